import HTTPTypes
import ResumeFiles
import ResumeHTTP

/// A fetch, which begins without a row if the store holds nothing.
struct Fetch<Parts: AsyncSequence> where Parts.Element: Sequence<UInt8> {
    typealias Send = (HTTPFields) async throws -> FetchResponse<Parts>
    /// Takes the number of stored bytes and of all bytes, after each part of a body.
    typealias OnProgress = @Sendable (Int64, Int64?) async -> Void

    let caller: Caller
    /// The key that the caller named; nil for that of the URL.
    let key: String?
    let selection: RangeSelection?
    let retries: RetryPolicy
    /// The maximum number of bytes.
    let limit: Int
    let onProgress: OnProgress?
    /// The response to the first request, if that was sent without a row.
    private(set) var first: Result<FetchResponse<FetchBody<Parts>>, any Error>?

    /// Fetches through a store on disk.
    mutating func run(in store: DownloadStore, _ send: Send) async throws -> FetchResult {
        let queue = try TransferQueue(of: store)
        let name = DownloadName.of(caller.url, named: key, selection: selection)
        let (destination, isWhole) = (caller.destination, selection == nil)
        let free = try await queue.perform {
            isWhole && SmallFile.mayBeDelivered(to: destination, from: store) ? try FreeKey(name, in: store) : nil
        }
        if let free, let result = try await small(free, in: store, on: queue, send) { return result }
        let transfer = try await TransferOpener(store).open(
            caller, key: key, selection: selection, holding: free, waits: true, on: queue)
        return try await run(transfer, send, finish)
    }

    /// Fetches a small file without a row.
    ///
    /// - Returns: The result; nil if the ordinary way goes on.
    /// - Throws: ``StoreError``
    private mutating func small(
        _ key: FreeKey, in store: DownloadStore, on queue: TransferQueue, _ send: Send
    ) async throws -> FetchResult? {
        let fetch = SmallFetch(of: caller.url, caller.policy, maximum: Int64(limit))
        first = await Result { try await RequestOutcome.of { try await send(Plan.whole(reason: nil).fields).begun } }
        guard case .success(let response)? = first else { return nil }
        guard let body = fetch.body(of: response.head, from: response.url, at: store.configuration.clock.now()),
            let file = await queue.perform({ SmallFile(of: key, for: body, in: store) })
        else {
            try Task.checkCancellation()
            return nil
        }
        guard await receive(response.body, into: file, on: queue, store.configuration.clock) else {
            return nil
        }
        let responded = caller.responded(from: response.url, response.trust, store.identityKey)
        let digest = caller.policy.digest
        var result = FetchResult(totalBytes: body.length, reusedBytes: 0, digest: digest)
        if let destination = caller.destination {
            guard try await file.deliver(to: destination, for: responded, digest: digest) else { return nil }
        } else {
            guard let bytes = try await queue.perform({ try file.take(for: responded) }) else { return nil }
            result.bytes = bytes
        }
        return result
    }

    /// Receives a body, which begins again for the ordinary way.
    ///
    /// - Returns: Whether it is complete.
    private func receive(
        _ body: FetchBody<Parts>, into file: SmallFile, on queue: TransferQueue, _ clock: StoreClock
    ) async -> Bool {
        var failure: (any Error)?
        do {
            while let part = try await body.next() {
                let goesOn = await queue.perform { unsafe file.append(part.span.bytes) }
                await onProgress?(file.length, file.body.length)
                if !goesOn || file.body.isLate(at: clock.now()) || file.length >= file.body.length { break }
            }
        } catch {
            failure = error
        }
        body.begin(with: file, failing: failure)
        // If the task is cancelled, an AsyncStream ends without an error before the body does.
        return failure == nil && file.isWhole && !Task.isCancelled
    }
}

extension Fetch {
    /// Fetches into a transfer, and closes it if that fails.
    ///
    /// - Parameters:
    ///   - transfer: The transfer.
    ///   - send: Sends a request.
    ///   - finish: Verifies the bytes when all are stored, and uses them.
    /// - Returns: The result of `finish`.
    /// - Throws: The errors of a fetch.
    func run<Result>(
        _ transfer: Transfer, _ send: Send, _ finish: (Transfer) async throws -> Result
    ) async throws -> Result {
        let client = FetchClient<Parts>(
            transfer: transfer, first: first, limit: Int64(limit), onProgress: onProgress)
        var loop = RequestLoop(client, retries)
        do {
            while true {
                try await loop.run { client, plan in
                    if let first = client.first.take() { return try first.get() }
                    // The caller's client sends no HEAD. If-Range serves the same purpose.
                    return try await RequestOutcome.of { try await send(plan.conditional.fields).begun }
                }
                if try await transfer.insist(unless: loop.client.isOfOneResponse) {
                    loop.client.isOfOneResponse = true
                    continue
                }
                do {
                    return try await finish(transfer)
                } catch let error as StoreError where error.code == .heldBytesDiffer {
                    try await loop.restart(because: Reason(error))
                }
            }
        } catch {
            let resumeData = await transfer.resumeData
            // The received bytes are recorded already. A failure here must not hide the first one.
            try? await transfer.close()
            guard var failure = error as? DownloadError else { throw error }
            failure.resumeData = resumeData
            throw failure
        }
    }

    /// Delivers the complete file, or takes its bytes.
    func finish(_ transfer: Transfer) async throws -> FetchResult {
        let length = await transfer.partial.length
        let reused = await min(transfer.reused, length)
        var result = FetchResult(totalBytes: length, reusedBytes: reused, digest: caller.policy.digest)
        if let destination = caller.destination {
            try await transfer.deliver(to: destination)
        } else {
            result.bytes = try await transfer.takeData(upTo: limit)
        }
        return result
    }
}

extension TransferQueue {
    /// Performs on this queue what may block.
    func perform<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result { try body() }
}
