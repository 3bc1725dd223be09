import ResumeHTTP
import ResumeStore

/// The bytes of a running download, from any offset on, and random access to the bytes received so far.
///
/// ```swift
/// for try await piece in downloader.makeStream(DownloadRequest(url, to: "film.mp4")) { feed(piece) }
/// ```
///
/// The download works like ``Downloader/download(_:onEvent:)``, at its own speed, and delivers to its destination. A
/// file that exists there is not read: ``DownloadRequest/IfExists/revalidate`` replaces it, and
/// ``DownloadRequest/IfExists/skip`` fails. Guarantees:
///
/// - Bytes received earlier are returned once the server has confirmed that it still has the same file, and each
///   block is compared with its checksum first. A damaged block is fetched again before it is returned.
/// - Up to the last piece, all bytes belong to one representation, as far as validators and overlaps can show. Whether
///   they match the requested or announced digest is known only when the sequence ends.
/// - The last piece is returned after the whole file was verified and delivered; if the request has a digest, so are
///   the last 64 KiB. Readers that must not see unverified
///   bytes should read the delivered file.
/// - Two versions are never mixed: if the download has to start over, the new bytes must begin with all bytes returned
///   so far, which is checked by a hash. Otherwise the sequence throws
///   `DownloadError.Code.representationChanged`.
///
/// While another task or process downloads the same resource, the stream waits and then reads the partial data it left.
/// Cancelling the reading task, or releasing the stream and its iterators, cancels the download and keeps its partial
/// data. ``cancel()`` does the same while the stream is still referenced.
public final class DownloadStream: AsyncSequence, Sendable {
    /// A part of the file, of 1 byte to 256 KiB.
    public typealias Element = [UInt8]

    private let state: StreamState
    private let task: Task<DownloadResult, any Error>
    /// The digest that the file must have; nil if unknown.
    private let digest: HTTPDigest?

    init(_ request: DownloadRequest, downloader: Downloader, onEvent: @escaping DownloadEvent.Listener) {
        let state = StreamState()
        self.state = state
        var request = request
        request.ifExists = [.skip, .fail].contains(request.ifExists) ? .fail : .replace
        digest = request.digest
        task = Task {
            let outcome = await Result { [request] in
                try await downloader.download(request, isRead: true) { transfer in
                    state.begin(transfer)
                } onEvent: { event in
                    state.take(event)
                    onEvent(event)
                }
            }
            state.finish(with: outcome)
            return try outcome.get()
        }
    }

    deinit {
        task.cancel()
    }

    /// Cancels the download if it has not ended, and keeps its partial data.
    public func cancel() {
        task.cancel()
    }

    /// The result of the download; waits until it has ended, whether or not anything reads the stream.
    ///
    /// - Throws: The errors of ``Downloader/download(_:onEvent:)``.
    public var value: DownloadResult {
        get async throws { try await task.value }
    }

    /// The ranges of bytes that can be read, as offsets in the file, in ascending order.
    ///
    /// Empty until the download has acquired its lease, and after a failure.
    public var heldRanges: [Range<Int64>] {
        get async { await state.transfer?.heldRanges ?? [] }
    }

    /// The total length of the file in bytes; waits until the server has announced it, and is nil if it does not.
    ///
    /// - Throws: The error of the download, if it ends before that; `CancellationError`.
    public var totalBytes: Int64? {
        get async throws {
            var changes = state.changes().makeAsyncIterator()
            while true {
                try Task.checkCancellation()
                if let total = try state.totalBytes() { return total }
                _ = await changes.next(isolation: #isolation)
            }
        }
    }

    /// Returns the bytes from an offset on, waiting for those that have not been received.
    ///
    /// The download continues in the order of the file, so bytes far behind the received ones take time. Several
    /// sequences can be read at once. Cancelling a task that reads this one does not cancel the download.
    ///
    /// - Parameter offset: The offset of the first byte.
    /// - Returns: The bytes, with the guarantees of the stream itself, except that a digest is not compared by the
    ///   sequence; the download compares it in any case.
    public func bytes(from offset: Int64) -> some AsyncSequence<[UInt8], any Error> & Sendable {
        Bytes(stream: self, offset: offset)
    }

    /// Reads bytes.
    ///
    /// Bytes that are read without waiting may not have been confirmed by the server yet: bytes received earlier may
    /// belong to an earlier version.
    ///
    /// - Parameters:
    ///   - range: Offsets in the file.
    ///   - waits: Whether to wait until the bytes have been received and confirmed.
    /// - Returns: All bytes of the range.
    /// - Throws: `StoreError`: `notHeld` if some of the range has not been received, `heldBytesDiffer` if the disk
    ///   returns different bytes, `io`.
    public func read(_ range: Range<Int64>, waits: Bool = false) async throws -> [UInt8] {
        if waits { return try await collect(range) }
        guard let transfer = state.transfer else {
            throw StoreError(.notHeld, Reason("unavailable"))
        }
        return try await transfer.read(range)
    }

    private func collect(_ range: Range<Int64>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard range.lowerBound >= 0, let count = Int(exactly: range.upperBound - range.lowerBound) else {
            throw StoreError(.notHeld, Reason("file-lacks", with: range.lowerBound, range.upperBound))
        }
        if count == 0 { return bytes }
        for try await part in self.bytes(from: range.lowerBound) {
            bytes += part.prefix(count - bytes.count)
            if bytes.count == count { return bytes }
        }
        throw StoreError(.notHeld, Reason("file-short", with: range.upperBound))
    }

    /// Starts reading at the first byte; several iterators may be used.
    public func makeAsyncIterator() -> some AsyncIteratorProtocol<[UInt8], any Error> {
        iterator(from: 0, endsDownload: true)
    }

    fileprivate func iterator(from offset: Int64, endsDownload: Bool) -> Iterator {
        Iterator(
            stream: self, cursor: StreamState.Cursor(from: offset, expecting: digest),
            changes: state.changes().makeAsyncIterator(), endsDownload: endsDownload)
    }

    /// An iterator over the bytes.
    fileprivate struct Iterator: AsyncIteratorProtocol {
        /// Keeps the download running while it is read.
        let stream: DownloadStream
        var cursor: StreamState.Cursor
        var changes: AsyncStream<Void>.Iterator
        /// Whether cancelling the reading task cancels the download.
        let endsDownload: Bool
        private(set) var isAtEnd = false

        /// Returns the next part of the file, waiting until there is one.
        ///
        /// - Parameter actor: The actor that the caller runs on.
        /// - Returns: nil at the end of the file, which has been verified and delivered by then.
        /// - Throws: The errors of ``Downloader/download(_:onEvent:)``, or a `DownloadError` with the code
        ///   `representationChanged`.
        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if isAtEnd { return nil }
            do {
                let bytes = try await stream.state.next(&cursor, &changes, isolation: actor)
                isAtEnd = bytes == nil
                return bytes
            } catch {
                isAtEnd = true
                if endsDownload || !(error is CancellationError) { stream.cancel() }
                throw error
            }
        }
    }

    /// The bytes of a stream from an offset on.
    private struct Bytes: AsyncSequence, Sendable {
        typealias Element = [UInt8]

        let stream: DownloadStream
        let offset: Int64

        func makeAsyncIterator() -> DownloadStream.Iterator { stream.iterator(from: offset, endsDownload: false) }
    }
}
