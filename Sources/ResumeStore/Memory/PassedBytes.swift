package import ResumeHTTP
import Synchronization

/// The bytes of one download on their way to a reader, of which only the last ones are in memory.
///
/// The reader gets each byte once, in order. If the download starts over, the new bytes are first compared, by a hash,
/// with those that the reader has got. The network is not read while too many bytes wait for the reader.
package final class PassedBytes: BodyStorage {
    private struct State {
        /// The last received bytes.
        var window: [UInt8] = []
        /// The offset after the last received byte.
        var end: Int64 = 0
        /// How many bytes the reader has got.
        var passed: Int64 = 0
        var hash: RunningHash
        /// The first of them, in which most versions of a file differ.
        var first: [UInt8] = []
        /// How many received bytes wait until all of them have the digest, or at least until more come.
        var withheld: Int64
        /// After a new start, the hash of the received bytes until they are as many as ``passed``.
        var again: RunningHash?
        var hasChanged = false
        /// Whether all bytes were received and have the expected digest, or why the download ended.
        var outcome: Result<Void, any Error>?

        /// The offset of the first byte in memory.
        var start: Int64 { end - Int64(window.count) }
        /// The number of bytes that wait for the reader.
        var waiting: Int64 { again == nil ? end - passed : 0 }

        /// Removes what was received beyond an offset, and is received again or does not count.
        mutating func requireEnd(at offset: Int64) throws {
            if offset >= end { return }
            guard again == nil, offset >= passed else { throw changed() }
            window.removeLast(Int(end - offset))
            end = offset
        }

        /// Records that the reader has got other bytes.
        mutating func changed() -> StoreError {
            hasChanged = true
            // Unlike heldBytesDiffer, this code ends the download.
            return StoreError(.superseded, "the file changed after some of it was read")
        }

        /// Takes bytes for the reader: all but the withheld ones, and those too when the download has ended well.
        mutating func take(_ most: Int64) throws -> (bytes: [UInt8], isLast: Bool) {
            let isComplete = try outcome.map { try $0.get() } != nil
            let count = min(waiting - (isComplete ? 0 : withheld), most)
            guard count > 0 else { return ([], isComplete) }
            let first = Int(passed - start)
            let bytes = Array(window[first..<first + Int(count)])
            hash.update(bytes)
            self.first += bytes.prefix(Int(overlap) - self.first.count)
            passed += count
            return (bytes, false)
        }
    }

    /// How many bytes wait for the reader before the network is no longer read.
    private static let mostWaiting: Int64 = 1 << 20
    /// How many of the first and of the last bytes that the reader has got are kept, to be compared.
    private static let overlap: Int64 = 64 << 10
    /// How many bytes before the last ones are removed at once.
    private static let stride: Int64 = 256 << 10
    /// The most bytes that the reader gets at once.
    private static let pieceSize: Int64 = 256 << 10

    private let state: Mutex<State>
    /// The digest that the reader's caller expects.
    private let digest: HTTPDigest?
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let (rooms, room) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Creates the empty bytes of a file with a digest; nil if it is not known.
    package init(_ digest: HTTPDigest?) {
        self.digest = digest
        state = Mutex(State(hash: RunningHash(digest?.algorithm ?? .sha256), withheld: 1))
    }

    /// Whether the file is not the one whose first bytes the reader has got.
    package var hasChanged: Bool { state.withLock(\.hasChanged) }

    // MARK: Receiving

    /// Starts over with the first byte.
    ///
    /// - Parameter announced: The digest that the server announces, which decides about the ``algorithm`` unless bytes
    ///   have been passed on, or another digest is expected.
    func restart(announced: HTTPDigest?) {
        state.withLock { state in
            state.window = []
            state.end = 0
            state.withheld = (digest ?? announced) == nil ? 1 : Self.overlap
            if state.passed == 0 { state.hash = RunningHash((digest ?? announced)?.algorithm ?? .sha256) }
            state.again = state.passed > 0 ? RunningHash(state.hash.algorithm) : nil
        }
    }

    func write(_ bytes: RawSpan, at offset: Int64) throws {
        try state.withLock { state in
            try state.requireEnd(at: offset)
            guard offset == state.end else {
                throw StoreError(.misuse, Reason("beyond-received"))
            }
            if var again = state.again {
                let passed = bytes.extracting(first: Int(clamping: state.passed - state.end))
                try unsafe passed.withUnsafeBytes { bytes in
                    let known = state.first.dropFirst(Int(clamping: state.end)).prefix(bytes.count)
                    guard unsafe known.elementsEqual(bytes.prefix(known.count)) else {
                        throw state.changed()
                    }
                    unsafe again.update(bytes)
                }
                state.again = again
                if state.end + Int64(passed.byteCount) == state.passed {
                    guard again.digest == state.hash.digest else { throw state.changed() }
                    state.again = nil
                }
            }
            state.window.append(bytes)
            state.end += Int64(bytes.byteCount)
            let excess = min(state.passed, state.end) - state.start - Self.overlap
            if excess >= Self.stride { state.window.removeFirst(Int(excess)) }
        }
        change.yield()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        state.withLock { unsafe $0.window.copy(to: buffer, from: offset.addingSaturating(-$0.start)) }
    }

    func discardBytes() {
        state.withLock { state in
            if state.again == nil { try? state.requireEnd(at: state.passed) }
        }
    }

    var hasRoom: Bool { state.withLock { $0.waiting < Self.mostWaiting } }

    func waitForRoom() async throws {
        while !hasRoom {
            try Task.checkCancellation()
            for await _ in rooms { break }
        }
    }

    /// The algorithm of the digest that can be compared.
    package var algorithm: HTTPDigest.Algorithm { state.withLock(\.hash.algorithm) }

    /// Ends the download: the reader gets the rest unless the bytes have another digest than the expected one.
    ///
    /// - Parameters:
    ///   - length: The length of the file.
    ///   - expected: The digest that the file must have, of the ``algorithm``; nil if there is none.
    /// - Returns: The digest of all bytes.
    /// - Throws: ``StoreError`` if the reader has got more bytes than there are.
    package func finish(at length: Int64, expecting expected: HTTPDigest?) throws -> HTTPDigest? {
        defer { change.yield() }
        return try state.withLock { state in
            try state.requireEnd(at: length)
            guard state.again == nil, state.end == length else { throw state.changed() }
            var hash = state.hash
            hash.update(Array(state.window[Int(state.passed - state.start)...]))
            let found = hash.digest
            if expected == nil || found == expected { state.outcome = .success(()) }
            return found
        }
    }

    /// Ends the download with an error, which the reader gets.
    package func fail(_ error: any Error) {
        state.withLock { $0.outcome = .failure(error) }
        change.yield()
    }

    // MARK: Reading

    /// Waits for the next bytes.
    ///
    /// - Returns: nil after the last ones.
    /// - Throws: The error of the download; `CancellationError`.
    package func next() async throws -> [UInt8]? {
        while true {
            try Task.checkCancellation()
            let (bytes, isLast) = try state.withLock { try $0.take(Self.pieceSize) }
            if !bytes.isEmpty {
                room.yield()
                return bytes
            }
            if isLast { return nil }
            for await _ in changes { break }
        }
    }
}
