#if os(Linux)
@unsafe @preconcurrency import Dispatch
#endif
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import Synchronization

/// A session that runs one request at a time, with its delegate.
///
/// The delegate's thread is blocked while the body's reader writes, and while too much data waits for a reader.
final class SessionBox: Sendable {
    let session: URLSession
    private let delegate: Delegate

    /// Disables the timeouts of URLSession, since the engine detects stalls.
    static let longTime: TimeInterval = 365 * 86_400

    /// The configuration for the engine, which decides on what is sent.
    static var engineConfiguration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = longTime
        configuration.timeoutIntervalForResource = longTime
        return configuration
    }

    init(_ configuration: URLSessionConfiguration = engineConfiguration) {
        delegate = Delegate()
        #if canImport(FoundationNetworking)
        let queue = CallerQueue()
        #else
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        #endif
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// Starts a request and passes its response to a body.
    func start(_ request: URLRequest, for body: SessionBody) {
        body.start { [session, delegate] in
            delegate.body.withLock { $0 = body }
            return session.dataTask(with: request)
        }
    }

    /// Runs the calls of the delegate synchronously, on the thread that receives.
    ///
    /// This provides the back-pressure that FoundationNetworking lacks: it reads and buffers data while its delegate is
    /// busy, and a suspended task repeats the whole request when it is resumed. A blocked thread reads nothing, neither for
    /// this session nor for others of the process, which share it. If FoundationNetworking ever stops adding operations
    /// from that thread, bodies are still correct, but memory is not bounded.
    private final class CallerQueue: OperationQueue, @unchecked Sendable {
        override func addOperation(_ block: @escaping @Sendable () -> Void) {
            block()
        }
    }

    /// Passes the events of a session to the body of its request.
    private final class Delegate: NSObject, URLSessionDataDelegate {
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

        /// Does not follow redirects for the engine, which does and decides what may be sent to their destination.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            let body = body.withLock(\.self)
            if let caller = body?.caller {
                return caller.decide(on: request, after: response, of: task) { request in
                    completionHandler(request)
                    if request == nil { body?.receive(response) }
                }
            }
            completionHandler(nil)
            // Otherwise, a redirect is reported on Linux only after its body was received, however long that is.
            body?.receive(response)
        }

        /// Uses the system's decision on trusting servers; the engine's only credentials are its header fields.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            #if canImport(FoundationNetworking)
            // libcurl decides on trust without asking. The handler must not be called on this thread, which all sessions
            // share: the call waits for the thread, so all sessions would stop.
            DispatchQueue.global().async { completionHandler(.rejectProtectionSpace, nil) }
            #else
            let caller = body.withLock(\.self)?.caller
            if let caller { return caller.decide(on: challenge, of: task, completionHandler) }
            let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
            completionHandler(isTrust ? .performDefaultHandling : .rejectProtectionSpace, nil)
            #endif
        }
    }
}

#if canImport(FoundationNetworking)
#endif
