import HTTPTypes
import ResumeHTTP
import Synchronization
import Tracing

extension DownloadObserver {
    /// A transport that creates a span for each request, from the request to the end of the response's body.
    ///
    /// The names of attributes follow OpenTelemetry's conventions for
    /// [HTTP clients](https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
    struct TracedTransport: Transport {
        let transport: any Transport
        /// The only origin to which the trace context is sent, since its contents belong to the caller, like credentials.
        let origin: String

        var permitsSomeAddressesOnly: Bool { transport.permitsSomeAddressesOnly }

        /// Not traced, since the engine sends each request with a time limit.
        func send(_ request: HTTPRequest) async throws -> TransportResponse {
            try await transport.send(request)
        }

        func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
            let span = startSpan(request.method.rawValue, ofKind: .client)
            span.attributes["http.request.method"] = request.method.rawValue
            let url = try? DownloadURL(of: request)
            if let url { span.describe(url) }
            var request = request
            if url?.origin == origin {
                InstrumentationSystem.instrument.inject(
                    span.context, into: &request.headerFields, using: FieldInjector())
            }
            do {
                let sent = request
                var response = try await InstrumentationContext.$current.withValue(span.context) {
                    try await transport.send(sent, timeout: timeout)
                }
                let status = response.head.status.code
                span.attributes["http.response.status_code"] = status
                if status >= 400 { span.fail(because: "\(status)") }
                response.body = Body(response.body, span)
                return response
            } catch {
                span.fail(with: error)
                span.end()
                throw error
            }
        }

        /// A body that ends the span of its request when it ends.
        private final class Body: ResponseBody {
            private let body: any ResponseBody
            private let span: any Span
            private let hasEnded = Atomic(false)

            init(_ body: any ResponseBody, _ span: any Span) {
                self.body = body
                self.span = span
            }

            deinit { end(with: nil) }

            func read(_ reader: @escaping BodyMailbox.Reader) async throws -> Bool {
                do {
                    let hasMore = try await body.read(reader)
                    if !hasMore { end(with: nil) }
                    return hasMore
                } catch {
                    end(with: error)
                    throw error
                }
            }

            func pause() { body.pause() }

            func cancel(with error: any Error) {
                body.cancel(with: error)
                end(with: error)
            }

            private func end(with error: (any Error)?) {
                guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
                // The engine itself cancels bodies that are not or no longer needed, which is not a failure.
                if let error, !(error is CancellationError) { span.fail(with: error) }
                span.end()
            }
        }

        /// Adds the trace context to the fields of a request.
        private struct FieldInjector: Injector {
            func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
                if let name = HTTPField.Name(key) { fields[name] = value }
            }
        }
    }
}

extension Span {
    /// Sets the attributes of a URL, without secrets.
    func describe(_ url: DownloadURL) {
        attributes["url.full"] = url.description
        attributes["server.address"] = url.host
        attributes["server.port"] = url.port
    }

    /// Records a failure by its code, since the error itself may contain a signed URL.
    func fail(because type: String) {
        attributes["error.type"] = type
        setStatus(SpanStatus(code: .error))
    }

    fileprivate func fail(with error: any Error) {
        fail(because: Reason(for: error).code.rawValue)
    }
}
