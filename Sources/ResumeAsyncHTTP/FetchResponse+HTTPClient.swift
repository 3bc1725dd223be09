#if AsyncHTTP
public import AsyncHTTPClient
import HTTPTypes
import NIOHTTP1
import ResumeHTTP
public import ResumeStore

extension FetchResponse {
    /// Makes a response for the `send` of a `fetch` from that of an application's own `HTTPClient`.
    ///
    /// The client may follow redirects: the URL of the last request becomes that of the response. It must not decode
    /// bodies.
    ///
    /// - Parameter response: The client's response; only this reads its body.
    /// - Throws: `InvalidInput` if a redirect led to a URL that is not valid.
    public init(_ response: HTTPClientResponse) throws(InvalidInput) where Body == HTTPClientBody {
        let head = HTTPResponse(response)
        // The first of the history is the request itself.
        let redirected = response.history.count > 1 ? response.history.last : nil
        self.init(
            head: head, body: HTTPClientBody(response, head),
            url: try redirected.map { step throws(InvalidInput) in try DownloadURL(step.request.url) })
    }
}

extension HTTPResponse {
    init(_ response: HTTPClientResponse) {
        self.init(
            code: Int(response.status.code), phrase: response.status.reasonPhrase,
            fields: response.headers.lazy.map { ($0.name, $0.value) })
    }
}
#endif
