import HTTPTypes
import ResumeHTTP

/// The ``RequestClient`` of a fetch, whose bodies come from the caller's HTTP client.
struct FetchClient<Parts: AsyncSequence>: RequestClient where Parts.Element: Sequence<UInt8> {
    typealias Body = FetchBody<Parts>

    let transfer: Transfer
    let comparesDigest = false
    /// The response to the first request, if it was sent before.
    var first: Result<FetchResponse<Body>, any Error>?
    /// Whether all of them were received in one response of this fetch.
    var isOfOneResponse = false
    /// The maximum number of bytes.
    let limit: Int64
    let onProgress: Fetch<Parts>.OnProgress?

    func read(_ count: Int, from body: Body) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await RequestOutcome.of {
            while bytes.count < count, let part = try await body.next() {
                bytes += part
            }
        }
        return bytes
    }

    func move(
        _ body: Body, of head: HTTPResponse, _ verdict: Verdict, from start: Int64, budget: inout RetryBudget
    ) async throws -> RequestOutcome {
        var failure: (any Error)?
        do {
            if let total = await transfer.partial.totalLength, total > limit {
                throw StoreError.tooLarge(total, limit: limit)
            }
            try await write(body, from: verdict.continuation?.firstPosition ?? 0)
        } catch let error as StoreError where error.code == .heldBytesDiffer {
            return .discard(Reason(error))
        } catch {
            failure = error
        }
        // If the task is cancelled, an AsyncStream ends without an error before the body does.
        let isCut = failure != nil || Task.isCancelled
        _ = try await transfer.finishBody(isCut ? .cut : .whole)
        if let error = failure as? StoreError, error.code != .surplusBytes { throw error }
        if let error = failure as? DownloadError { throw error }
        return .body(received: max(await transfer.partial.length - start, 0), failure: failure)
    }

    // Fetches share no origins, so any number is that of a turn.
    var firstTurn: OriginPace.Turn? { first == nil ? nil : 0 }

    mutating func willReceive(_ verdict: Verdict, after held: HeldPartial) async {
        if verdict.usesBody { isOfOneResponse = verdict.replaces }
    }

    func refused(by head: HTTPResponse, _ body: Body?, because reason: Reason) async throws -> RequestOutcome {
        var error = DownloadError(.refused, reason, status: head.status.code)
        // The body often says why. A failure here must not hide the first one.
        if let body {
            error.body = Array(
                ((try? await read(DownloadError.longestBody, from: body)) ?? []).prefix(DownloadError.longestBody))
        }
        throw error
    }

    func exhausted(because failure: any Error) async -> any Error {
        guard let failure = failure as? ResponseFailure else { return failure }
        return DownloadError(.unreachable, failure.lastReason, status: failure.status)
    }

    private func write(_ body: Body, from start: Int64) async throws {
        var position = start
        while let bytes = try await body.next() {
            try await transfer.write(bytes)
            if let onProgress {
                let partial = await transfer.partial
                await onProgress(partial.length, partial.totalLength)
            }
            // The rest is not needed.
            if transfer.hasAllWanted { return }
            position = position.addingSaturating(Int64(bytes.count))
            if position > limit { throw StoreError.tooLarge(receiving: position, limit: limit) }
        }
    }
}
