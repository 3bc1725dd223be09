import ResumeHTTP
import ResumeStore

/// Downloads that store nothing.
extension DownloadRequest {
    /// Downloads a small file into memory, with the same requests as ``Downloader/download(_:onEvent:)``.
    ///
    /// The destination is not used, and the digest is not compared. Nothing is kept after an error.
    ///
    /// - Parameter transport: The HTTP client.
    /// - Returns: All bytes, at most ``maximumLength`` or 32 MiB.
    /// - Throws: `DownloadError`, `StoreError`, `CancellationError`; what the closures of the request throw.
    package func bytes(over transport: any Transport) async throws -> [UInt8] {
        let limit = Int(clamping: maximumLength ?? 32 << 20)
        let store = MemoryStore(maximumSize: limit, maximumEntrySize: limit)
        do {
            return try await received(in: store, over: transport) { try await $0.transfer.takeData(upTo: limit) }
        } catch let error as StoreError where error.code == .tooLarge {
            throw DownloadError(.tooLarge, .tooLarge(receiving: nil, limit: Int64(limit)))
        }
    }

    /// Downloads a file and passes its bytes on while they are received, with the same requests as
    /// ``Downloader/download(_:onEvent:)``.
    ///
    /// Each byte is passed once, in order, also after lost connections. The last one, or 64 KiB if the request or the
    /// server names a digest, is passed when all have been received and have the digest. The destination is not used.
    ///
    /// - Parameters:
    ///   - transport: The HTTP client.
    ///   - onEvent: Called with each event but the end.
    ///   - take: Receives the bytes, at most 256 KiB each time. While it waits, at most 1 MiB and the bytes under way
    ///     are in memory.
    /// - Returns: The number of bytes, and what is known of them.
    /// - Throws: `DownloadError`, with `representationChanged` if the file changed after some of it was passed on;
    ///   `StoreError`, `CancellationError`; the errors of `take`.
    package func pass(
        over transport: any Transport, onEvent: @escaping DownloadEvent.Listener,
        to take: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws -> DownloadResult {
        let passed = PassedBytes(digest)
        return try await withThrowingTaskGroup(of: DownloadResult?.self) { group in
            group.addTask {
                do {
                    return try await receive(passed, over: transport, onEvent: onEvent)
                } catch {
                    let isChange = passed.hasChanged && !(error is CancellationError)
                    let failure = isChange ? DownloadError(.representationChanged, .changedWhileRead) : error
                    passed.fail(failure)
                    throw failure
                }
            }
            group.addTask {
                while let bytes = try await passed.next() { try await take(bytes) }
                return nil
            }
            var result: DownloadResult?
            for try await ended in group { result = ended ?? result }
            guard let result else { throw CancellationError() }
            return result
        }
    }

    private func receive(
        _ passed: PassedBytes, over transport: any Transport, onEvent: @escaping DownloadEvent.Listener
    ) async throws -> DownloadResult {
        var request = self
        // In the order of the file.
        request.connections = 1
        return try await request.received(in: MemoryStore(passing: passed), over: transport, onEvent: onEvent) { run in
            let partial = await run.transfer.partial
            let field = run.comparesDigest ? partial.representation?.reprDigest : nil
            // The algorithm cannot change after bytes have been passed on.
            let announced = HTTPDigest(field: field, preferring: passed.algorithm)
            let expected = digest ?? (announced?.algorithm == passed.algorithm ? announced : nil)
            let found = try passed.finish(at: partial.length, expecting: expected)
            if let expected, found != expected {
                let reason =
                    digest == nil
                    ? Reason.announcedDigestMismatch
                    : .digestMismatch(
                        expected, found, Reason.rest(isKept: false, isPassedOn: true))
                throw DownloadError(.digestMismatch, reason)
            }
            let isOneVersion = if expected?.isProof == true { true } else { await run.transfer.isProved }
            onEvent(.progress(receivedBytes: partial.length, totalBytes: partial.length))
            return await run.result(of: partial, at: destination, expected, isOneVersion: isOneVersion)
        }
    }

    /// Receives the whole file in a store in memory.
    private func received<Result: Sendable>(
        in store: MemoryStore, over transport: any Transport,
        onEvent: @escaping DownloadEvent.Listener = { _ in }, _ finish: (DownloadRun) async throws -> Result
    ) async throws -> Result {
        let transfer = try await store.open(
            url, headerFields: identityFields, key: key, selection: selection, policy: policy)
        return try await exchange(for: transfer, over: transport, onEvent: onEvent) { loop in
            try await loop.run()
            return try await finish(loop.client)
        }
    }
}
