import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The program's own HTTP client: URLSession, with bodies as they come.
struct HTTPClient: Sendable {
    typealias Answer = (head: HTTPResponse, body: AsyncThrowingStream<Data, any Error>)

    private let session: URLSession
    private let receiver = Receiver()

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        // What is half there is kept by the store. A cache between the two would answer for the server.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    /// Sends a GET with these fields, and waits for the head of the answer.
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

/// Hands what the session tells to whom it concerns.
private final class Receiver: NSObject, URLSessionDataDelegate {
    private struct Exchange {
        /// Who waits for the head.
        var waiter: CheckedContinuation<HTTPClient.Answer, any Error>?
        /// nil once it was handed over: whoever drops it without reading it ends the request.
        var body: AsyncThrowingStream<Data, any Error>?
        var parts: AsyncThrowingStream<Data, any Error>.Continuation
    }

    private let exchanges = Mutex<[Int: Exchange]>([:])

    func start(_ task: URLSessionDataTask, _ waiter: CheckedContinuation<HTTPClient.Answer, any Error>) {
        let (body, parts) = AsyncThrowingStream<Data, any Error>.makeStream()
        // Who reads no further, since he is cancelled, ends the request.
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
        // A body that was cut must throw: without its error it would count as whole where no length was announced.
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
