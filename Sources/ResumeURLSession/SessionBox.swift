#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#endif
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Synchronization

/// A session that works on one request at a time, with its delegate.
///
/// Its delegate is held up while the body's reader writes, and while too much waits for a reader.
final class SessionBox: Sendable {
    let session: URLSession
    private let delegate: SessionDelegate

    /// No timeout of URLSession's: the engine watches for stalls by itself.
    static let longTime: TimeInterval = 365 * 86_400

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = Self.longTime
        configuration.timeoutIntervalForResource = Self.longTime
        delegate = SessionDelegate()
        #if canImport(FoundationNetworking)
        let queue = CallerQueue()
        #else
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        #endif
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// Starts a request whose answer a body takes.
    func start(_ request: URLRequest, for body: SessionBody) {
        body.start { [session, delegate] in
            delegate.body.withLock { $0 = body }
            return session.dataTask(with: request)
        }
    }
}

#if canImport(FoundationNetworking)
/// Runs what the session tells its delegate at once, on the thread that receives.
///
/// That is the back-pressure which FoundationNetworking lacks: it reads on while its delegate is busy, and keeps all that
/// comes; and a task that is suspended asks for everything again when it is resumed. Held up like this it does not read:
/// neither this session nor, since they share a thread, any other one of the process.
/// Should it ever stop adding operations from its own queue, bodies will still be right, and memory not bounded.
private final class CallerQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}
#endif

/// Hands what a session tells to the body of its request.
private final class SessionDelegate: NSObject, URLSessionDataDelegate {
    let body = Mutex<SessionBody?>(nil)

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        body.withLock { $0 }?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        body.withLock { $0 }?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        body.withLock { $0.take() }?.complete(task.response, error)
    }

    /// The engine follows redirects, and decides what may go along.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
        // On Linux it is told as an answer only when its body has come, however long that is.
        body.withLock { $0 }?.receive(response)
    }

    /// Servers are trusted as the system says; credentials are the caller's fields, and nothing else.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // libcurl decides on trust, and does not ask. Not on this thread, which all sessions share: the answer waits
        // for it, and no session would get another one.
        DispatchQueue.global().async { completionHandler(.rejectProtectionSpace, nil) }
        #else
        let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
        completionHandler(isTrust ? .performDefaultHandling : .rejectProtectionSpace, nil)
        #endif
    }
}
