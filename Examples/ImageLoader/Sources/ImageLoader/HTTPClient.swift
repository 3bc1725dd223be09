import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The program's own HTTP client, based on URLSession, which returns bodies while they are received.
struct HTTPClient: Sendable {
    typealias Answer = (head: HTTPResponse, body: AsyncThrowingStream<Data, any Error>)

    private let session: URLSession
    private let receiver = Receiver()

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        // Partial data is kept by the store. A cache would answer in place of the server.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    /// Sends a GET request with header fields and waits for the head of the response.
    func get(_ url: URL, _ fields: HTTPFields) async throws -> Answer {
        var request = URLRequest(url: url)
        for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name.rawName) }
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { receiver.start(task, $0) }
        } onCancel: {
            task.cancel()
        }
    }
}

/// Passes the events of the session to the requests that they belong to.
private final class Receiver: NSObject, URLSessionDataDelegate {
    private struct Exchange {
        /// The caller that waits for the head.
        var waiter: CheckedContinuation<HTTPClient.Answer, any Error>?
        /// The body; nil once it was returned, so that dropping it unread ends the request.
        var body: AsyncThrowingStream<Data, any Error>?
        var parts: AsyncThrowingStream<Data, any Error>.Continuation
    }

    private let exchanges = Mutex<[Int: Exchange]>([:])

    func start(_ task: URLSessionDataTask, _ waiter: CheckedContinuation<HTTPClient.Answer, any Error>) {
        let (body, parts) = AsyncThrowingStream<Data, any Error>.makeStream()
        // A reader that stops because it is cancelled ends the request.
        parts.onTermination = { _ in task.cancel() }
        exchanges.withLock { $0[task.taskIdentifier] = Exchange(waiter: waiter, body: body, parts: parts) }
        task.resume()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let exchange = exchanges.withLock { exchanges in
            defer {
                exchanges[dataTask.taskIdentifier]?.waiter = nil
                exchanges[dataTask.taskIdentifier]?.body = nil
            }
            return exchanges[dataTask.taskIdentifier]
        }
        if let body = exchange?.body { exchange?.waiter?.resume(returning: (HTTPResponse(response), body)) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        _ = exchanges.withLock { $0[dataTask.taskIdentifier] }?.parts.yield(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        exchange?.waiter?.resume(throwing: error ?? URLError(.badServerResponse))
        // A body that was cut short must throw; otherwise it would count as complete if no length was announced.
        exchange?.parts.finish(throwing: error)
    }
}

extension HTTPResponse {
    fileprivate init(_ response: URLResponse) {
        let response = response as? HTTPURLResponse
        self.init(status: .init(code: response?.statusCode ?? 0))
        for (name, value) in response?.allHeaderFields ?? [:] {
            guard let name = HTTPField.Name("\(name)") else { continue }
            headerFields[name] = "\(value)"
        }
    }
}
