import HTTPTypes
import ResumeHTTP
import ResumeStore

func fetchToFile(
    _ store: DownloadStore, _ url: DownloadURL, get: (HTTPFields) async throws -> Answer
) async throws {
    // SNIPPET
    try await store.fetch(url, to: "image.iso") { fields in
        try await get(fields)  // your client: returns the response head and a stream of body parts
    }
    // END
}

// SNIPPET
/// An HTTP client that does not decode bodies, and whose bodies throw if they are cut short.
protocol Client: Sendable {
    typealias Body = AsyncThrowingStream<[UInt8], any Error>

    func send(_ request: HTTPRequest) async throws -> (head: HTTPResponse, body: Body)
}

/// A failed download; its received bytes are kept.
struct DownloadFailed: Error {
    var reason: Reason
}
// END

// SNIPPET
func fetch(_ url: DownloadURL, to path: String, in store: DownloadStore, by client: some Client) async throws {
    let transfer = try await store.open(url, destination: path)
    do {
        repeat {
            try await complete(transfer, from: url, by: client)
            // Bytes stored earlier are verified in the background. Damaged blocks are requested again.
        } while try await !transfer.confirmHeld()
        try await transfer.deliver(to: path)
    } catch {
        try? await transfer.close()
        throw error
    }
}
// END

// SNIPPET
func complete(_ transfer: Transfer, from url: DownloadURL, by client: some Client) async throws {
    var failures = 0
    var avoidsRange: Reason?
    while await !transfer.isComplete {
        var request = HTTPRequest(
            method: .get, scheme: url.scheme, authority: url.authority, path: url.requestTarget)
        request.headerFields = await transfer.nextRequest(avoidingRange: avoidsRange)
        let response = try await client.send(request)

        var (received, failure, retryAfter) = (Int64(0), Reason.cut, Duration?.none)
        switch try await transfer.receive(response.head) {
        case .writeBody:
            avoidsRange = nil
            received = try await take(response.body, into: transfer)
        case .complete: break  // The server confirms that no bytes are missing.
        case .requestWhole(let reason): (avoidsRange, failure) = (reason, reason)
        case .retry(let reason, let delay): (failure, retryAfter) = (reason, delay)
        case .fail(let reason): throw DownloadFailed(reason: reason)
        @unknown default: throw DownloadFailed(reason: failure)
        }
        if await transfer.isComplete { return }
        failures = received > 0 ? 0 : failures + 1
        guard failures <= 5 else { throw DownloadFailed(reason: failure) }
        try await Task.sleep(for: retryAfter ?? .milliseconds(500 << failures))
    }
}

extension Reason {
    static let cut = Reason(code: "cut", text: "the connection ended before the body was complete")
}
// END

// SNIPPET
/// Writes a body to the store, and returns how many bytes it added.
func take(_ body: Client.Body, into transfer: Transfer) async throws -> Int64 {
    let before = await transfer.receivedBytes
    var ending = Transfer.BodyEnding.cut
    do {
        for try await part in body {
            try await transfer.write(part)
            if transfer.hasAllWanted { break }
        }
        // AsyncThrowingStream ends without an error when the reading task is cancelled.
        if !transfer.hasAllWanted, !Task.isCancelled { ending = .whole }
    } catch let error as StoreError where error.code == .heldBytesDiffer {
        // The server has other bytes with the same validator.
        let reason = Reason(code: "held-bytes-differ", text: error.message)
        try await transfer.discard(reason: reason)
        return 0
    } catch let error where !(error is StoreError || error is CancellationError) {
        // The connection was cut. The received bytes are kept.
    }
    _ = try await transfer.endBody(ending)
    try Task.checkCancellation()
    return await transfer.receivedBytes - before
}
// END
