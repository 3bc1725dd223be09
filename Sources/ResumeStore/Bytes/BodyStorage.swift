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

    /// Returns the bytes of a range; fewer if they end before it.
    func read(_ range: Range<Int64>) throws -> [UInt8] {
        try StoreError.wrapping {
            try unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, done in
                done = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            }
        }
    }

    /// Returns the bytes of a range; throws if there are fewer.
    func bytes(in range: Range<Int64>) throws -> [UInt8] {
        let bytes = try read(range)
        guard bytes.count == range.count else { throw StoreError.blobShort }
        return bytes
    }
}

/// The bytes of a blob, for computing a digest.
package struct HeldBytes: Sendable {
    let blob: (any BodyStorage)?

    /// Computes the digest of a range; blocks until it is read.
    package func digest(_ algorithm: HTTPDigest.Algorithm, of range: Range<Int64>) throws -> HTTPDigest? {
        var hash = RunningHash(algorithm)
        try forEachBuffer(in: range) { hash.update($0) }
        return hash.digest
    }

    /// Passes the bytes to a closure in order; blocks until it has read them.
    ///
    /// - Throws: ``StoreError``, or any error of `body`.
    package func forEachBuffer(in range: Range<Int64>, _ body: ([UInt8]) throws -> Void) throws {
        guard let blob else { return }
        for part in range.parts(of: 256 << 10) { try body(blob.bytes(in: part)) }
    }

    /// Returns the offset of the first byte of a file that differs from these; nil if there is none.
    func firstDifference(from file: OpenFile, in range: Range<Int64>) throws -> Int64? {
        for part in range.parts(of: 256 << 10) {
            guard let wanted = try blob?.bytes(in: part) else { return nil }
            let found = try file.bytes(wanted.count, at: part.lowerBound)
            if found != wanted { return part.lowerBound + Int64(zip(found, wanted).prefix { $0 == $1 }.count) }
        }
        return nil
    }
}
