import HTTPTypes
import ResumeFiles
import ResumeHTTP

/// The body of a response to a fetch, of which the first bytes may have been received before.
final class FetchBody<Parts: AsyncSequence> where Parts.Element: Sequence<UInt8> {
    private var parts: Parts.AsyncIterator
    /// What was received, the offset of the next byte of it, and why nothing follows.
    private var begun: (file: SmallFile, position: Int64, failure: (any Error)?)?

    init(_ parts: Parts) { self.parts = parts.makeAsyncIterator() }

    /// Returns the next part; nil at the end.
    func next() async throws -> [UInt8]? {
        if let (file, start, failure) = begun {
            var part: [UInt8] = []
            let (end, isOver) = try file.read(from: start) { bytes in
                part.append(bytes)
                return false
            }
            begun = isOver ? nil : (file, end, failure)
            if !isOver { return part }
            if let failure { throw failure }
        }
        try Task.checkCancellation()
        return try await parts.next(isolation: #isolation).map { Array($0) }
    }

    /// Begins again with what was received.
    func begin(with file: SmallFile, failing failure: (any Error)?) { begun = (file, 0, failure) }
}

extension FetchResponse where Body: AsyncSequence, Body.Element: Sequence<UInt8> {
    /// The same response with a body that a fetch reads.
    var begun: FetchResponse<FetchBody<Body>> {
        FetchResponse<FetchBody<Body>>(head: head, body: FetchBody(body), url: url, trust: trust)
    }
}

/// How a fetch begins if the store holds nothing.
struct FetchStart<Parts: AsyncSequence> where Parts.Element: Sequence<UInt8> {
    typealias Response = FetchResponse<FetchBody<Parts>>

    let store: DownloadStore
    let caller: Caller
    let queue: TransferQueue
    let limit: Int64
    let onProgress: (@Sendable (Int64, Int64?) -> Void)?
    /// The locked key, with which the ordinary way goes on.
    private(set) var key: FreeKey?
    /// The response to the first request, if that was sent.
    private(set) var first: Result<Response, any Error>?

    /// Fetches a small file without a row.
    ///
    /// - Parameters:
    ///   - given: The key that the caller named; nil for that of the URL.
    ///   - selection: The requested ranges; nil for all.
    ///   - send: Sends a request.
    /// - Returns: The result; nil if the ordinary way goes on.
    /// - Throws: ``StoreError``
    mutating func run(
        _ given: String?, _ selection: RangeSelection?,
        _ send: (HTTPFields) async throws -> FetchResponse<Parts>
    ) async throws -> FetchResult? {
        guard selection == nil else { return nil }
        let store = store
        let destination = caller.destination
        let name = DownloadStore.key(of: caller.url, named: given, selection: nil)
        key = try await queue.perform {
            store.takesSmallFiles(to: destination) ? try store.freeKey(name) : nil
        }
        guard let key else { return nil }
        let fetch = SmallFetch(of: caller.url, caller.policy, maximum: limit)
        first = await Result { try await RequestOutcome.of { try await send(Plan.whole(reason: nil).fields).begun } }
        guard case .success(let response)? = first else { return nil }
        guard let body = fetch.body(of: response.head, from: response.url, at: store.configuration.clock.now()),
            let file = await queue.perform({ SmallFile(of: key, for: body, in: store) })
        else {
            try Task.checkCancellation()
            return nil
        }
        guard await receive(response.body, into: file) else { return nil }
        let answered = caller.answered(from: response.url, response.trust, store.identityKey)
        let digest = caller.policy.digest
        var result = FetchResult(totalBytes: body.length, reusedBytes: 0, digest: digest)
        if let destination {
            guard try await file.deliver(to: destination, for: answered, digest: digest) else { return nil }
        } else {
            guard let bytes = try await queue.perform({ try file.take(for: answered) }) else { return nil }
            result.bytes = bytes
        }
        return result
    }

    /// Opens the transfer with which the ordinary way goes on.
    func open(_ given: String?, _ selection: RangeSelection?) async throws -> Transfer {
        try await store.open(caller, key: given, selection: selection, holding: key, waits: true, on: queue)
    }

    /// Receives a body, which begins again for the ordinary way.
    ///
    /// - Returns: Whether it is complete.
    private func receive(_ body: FetchBody<Parts>, into file: SmallFile) async -> Bool {
        var failure: (any Error)?
        do {
            while let part = try await body.next() {
                let goesOn = await queue.perform { unsafe file.append(part.span.bytes) }
                onProgress?(file.length, file.body.length)
                guard goesOn, !file.body.isLate(at: store.configuration.clock.now()), file.length < file.body.length
                else {
                    break
                }
            }
        } catch {
            failure = error
        }
        body.begin(with: file, failing: failure)
        // If the task is cancelled, an AsyncStream ends without an error before the body does.
        return failure == nil && file.isWhole && !Task.isCancelled
    }
}

extension TransferQueue {
    /// Performs on this queue what may block.
    func perform<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result { try body() }
}
