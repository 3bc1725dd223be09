internal import ResumeHTTP
internal import ResumeStore

/// The bytes of a download while it runs: those that are held, then those that come; and random access to what is held.
///
/// ```swift
/// for try await piece in downloader.stream(DownloadRequest(url, to: "film.mp4")) { feed(piece) }
/// ```
///
/// The download does what ``Downloader/download(_:onEvent:)`` does, at its own speed, and delivers to its destination.
/// Which guarantee holds when:
///
/// - Bytes that were held before are handed out once the server has shown that it still has the same file, and each
///   block is compared with its checksum first. A block that the disk did not keep is waited for until it is fetched anew.
/// - Until the last piece, bytes are those of one representation, as far as validators and overlaps can tell. That
///   they have the digest that was asked for, or announced, is known when the sequence ends, not before.
/// - The last piece comes after the whole was verified and delivered. Where a reader wants to see nothing that is not
///   verified, let him read the delivered file.
/// - No two files are spliced: where the download has to start over, the new bytes must begin with all that was
///   handed out, which a SHA-256 of it shows; else the sequence throws ``DownloadError/Code/representationChanged``.
///
/// While somebody else works on the same download, in this process or another, it waits for him and then reads what he left.
/// Cancelling the task that reads, or letting the stream and its iterators go, cancels the download and keeps what came;
/// so does ``cancel()``, for when a reader leaves and the stream is still referred to.
public final class DownloadStream: AsyncSequence, Sendable {
    /// A part of the file; at most 256 KiB, never empty.
    public typealias Element = [UInt8]

    private let state: StreamState
    private let task: Task<DownloadResult, any Error>
    private let algorithm: HTTPDigest.Algorithm

    init(_ request: DownloadRequest, downloader: Downloader, onEvent: @escaping @Sendable (DownloadEvent) -> Void) {
        let state = StreamState()
        self.state = state
        algorithm = request.digest?.algorithm ?? .sha256
        task = Task {
            do {
                let result = try await downloader.download(request) { transfer in
                    state.begin(transfer)
                } onEvent: { event in
                    state.take(event)
                    onEvent(event)
                }
                state.finish(with: .success(result))
                return result
            } catch {
                state.finish(with: .failure(error))
                throw error
            }
        }
    }

    deinit {
        task.cancel()
    }

    /// Ends the download, unless it has ended, and keeps what came.
    public func cancel() {
        task.cancel()
    }

    /// What the download ends with; waits for that, whether anybody reads or not.
    ///
    /// - Throws: What ``Downloader/download(_:onEvent:)`` throws.
    public var value: DownloadResult {
        get async throws { try await task.value }
    }

    /// Where bytes are held, as offsets in the file, in order.
    ///
    /// None before the download has its lease, and after it failed.
    public var heldRanges: [Range<Int64>] {
        get async { await state.transfer?.heldRanges ?? [] }
    }

    /// Reads bytes that are held, now; does not wait for others.
    ///
    /// They need not be confirmed by the server yet: those of a partial are of the file as it was.
    ///
    /// - Parameter range: Offsets in the file.
    /// - Returns: All bytes of the range.
    /// - Throws: `StoreError`: `notHeld` where some of the range is not held, `heldBytesDiffer` where the disk did not
    ///   keep it, `io`.
    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard let transfer = state.transfer else {
            throw StoreError(.notHeld, "no bytes are available yet: another task or process is downloading them")
        }
        return try await transfer.read(range)
    }

    /// Begins to read at the first byte; several readers may.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: self, cursor: StreamCursor(algorithm), changes: state.changes().makeAsyncIterator())
    }

    /// A reader.
    public struct Iterator: AsyncIteratorProtocol {
        /// Kept, so that the download goes on while somebody reads.
        private let stream: DownloadStream
        private var cursor: StreamCursor
        private var changes: AsyncStream<Void>.Iterator
        private var isAtEnd = false

        fileprivate init(stream: DownloadStream, cursor: StreamCursor, changes: AsyncStream<Void>.Iterator) {
            self.stream = stream
            self.cursor = cursor
            self.changes = changes
        }

        /// The next part of the file; waits until there is one.
        ///
        /// - Parameter actor: Where the reader runs.
        /// - Returns: nil at the end of the file, which is whole, verified and delivered then.
        /// - Throws: What ``Downloader/download(_:onEvent:)`` throws, or a ``DownloadError`` of the code
        ///   `representationChanged`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            do {
                while !isAtEnd {
                    try Task.checkCancellation()
                    switch try await stream.state.step(&cursor) {
                    case .bytes(let bytes): return bytes
                    case .nothingYet: _ = await changes.next(isolation: actor)
                    case .end: isAtEnd = true
                    }
                }
                return nil
            } catch {
                isAtEnd = true
                stream.cancel()
                throw error
            }
        }
    }
}
