import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSession {
    /// Lets the delegate decide, on its queue, whether a redirect is followed; without one, it is.
    func decide(
        on request: URLRequest, after response: HTTPURLResponse, of task: URLSessionTask,
        _ completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        delegateQueue.addOperation { [self] in
            guard let delegate = delegate as? any URLSessionTaskDelegate else {
                return completionHandler(request)
            }
            #if canImport(FoundationNetworking)
            delegate.urlSession(
                self, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
            #else
            let call: Void? = delegate.urlSession?(
                self, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
            if call == nil { completionHandler(request) }
            #endif
        }
    }

    #if !canImport(FoundationNetworking)
    /// Lets the delegate answer a challenge, on its queue; without one, the system does.
    func decide(
        on challenge: URLAuthenticationChallenge, of task: URLSessionTask,
        _ completionHandler: @escaping @Sendable (AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        delegateQueue.addOperation { [self] in
            // Challenges of a connection go to the session's method, if there is one.
            let isOfConnection = [
                NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
                NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            ].contains(challenge.protectionSpace.authenticationMethod)
            var call: Void?
            if isOfConnection {
                call = delegate?.urlSession?(self, didReceive: challenge, completionHandler: completionHandler)
            }
            if call == nil, let delegate = delegate as? any URLSessionTaskDelegate {
                call = delegate.urlSession?(
                    self, task: task, didReceive: challenge, completionHandler: completionHandler)
            }
            if call == nil { completionHandler(.performDefaultHandling, nil) }
        }
    }
    #endif
}
