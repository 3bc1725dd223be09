import ResumeFiles
package import ResumeHTTP

/// The storage of received bytes: a file or memory.
protocol BodyStorage: AnyObject, Sendable {
    func write(_ bytes: RawSpan, at offset: Int64) throws

    /// Reads up to the buffer's size from an offset; returns less only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int

    /// Returns the first bytes; throws if there are fewer.
    func bytes(count: Int) throws -> [UInt8]

    /// Forgets all bytes, since they are wrong.
    func discardBytes()

    /// Whether more bytes may be written at once.
    var hasRoom: Bool { get }

    /// Waits until that is so.
    func waitForRoom() async throws
}

extension OpenFile: BodyStorage {}

extension BodyStorage {
    func bytes(count: Int) throws -> [UInt8] { try bytes(in: 0..<Int64(count)) }

    func discardBytes() {}

    var hasRoom: Bool { true }

    func waitForRoom() async throws {}

    /// Returns the bytes of a range; throws if there are fewer.
    func bytes(in range: Range<Int64>) throws -> [UInt8] {
        let count = Int(clamping: range.upperBound - range.lowerBound)
        let bytes = try StoreError.wrapping {
            try unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
                done = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            }
        }
        guard bytes.count == count else { throw StoreError.blobShort }
        return bytes
    }
}

/// The bytes of a blob, for computing a digest.
package struct HeldBytes: Sendable {
    let blob: (any BodyStorage)?

    /// Computes the digest of a range; blocks until it is read.
    package func digest(_ algorithm: HTTPDigest.Algorithm, of range: Range<Int64>) throws -> HTTPDigest? {
        var hash = RunningHash(algorithm)
        try unsafe forEachBuffer(in: range) { unsafe hash.update($0) }
        return hash.digest
    }

    /// Passes the bytes to a closure in order; blocks until it has read them.
    ///
    /// - Throws: ``StoreError``, or any error of `body`.
    package func forEachBuffer(in range: Range<Int64>, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let blob else { return }
        let size = 256 * 1024
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { unsafe buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(size), range.upperBound - offset))
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            let count = try StoreError.wrapping { try unsafe blob.read(into: target, at: offset) }
            guard count == wanted else { throw StoreError.blobShort }
            try unsafe body(UnsafeRawBufferPointer(target))
            offset += Int64(count)
        }
    }
}
