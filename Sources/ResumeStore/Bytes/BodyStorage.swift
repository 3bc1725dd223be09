internal import ResumeFiles

/// The storage that the bytes of a body are written to or compared with: a file or memory.
protocol BodyStorage: Sendable {
    /// Writes all bytes at an offset.
    func write(_ bytes: RawSpan, at offset: Int64) throws

    /// Reads up to the buffer's size from an offset; returns less only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
}

extension OpenFile: BodyStorage {}
