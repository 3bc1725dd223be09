package import HTTPTypes

/// What the response to a HEAD request says about the range request after it.
///
/// It never makes a download complete; only received bytes do.
package enum HeadVerdict: Sendable, Hashable {
    /// The server has the same representation as the stored bytes: request the rest.
    case unchanged
    /// The server has another representation: request the whole file.
    case changed(Reason)
    /// HEAD is not supported, or the response has no validator: request the rest with `If-Range`.
    case unknown(Reason)
    /// Repeat the request later.
    case retry(Reason, afterSeconds: Int64?)

    /// Judges the response to a HEAD request.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - validator: The validator of the stored bytes.
    package init(for response: HTTPResponse, validator: Validator) {
        let fields = response.headerFields
        let timing = ResponseTiming(response)
        switch response.status.code {
        case 200, 206:
            let fresh = Verdict.validator(in: fields, like: validator)
            if fresh == validator {
                self = .unchanged
            } else if let fresh {
                self = .changed(.representationChanged(validator, fresh))
            } else {
                self = .unknown(.headUnanswered)
            }
        case _ where timing.isTemporary:
            self = .retry(.status(of: response), afterSeconds: timing.afterSeconds)
        default:
            // A URL that is signed for GET responds with 403 to HEAD, others with 405 or 501.
            self = .unknown(.headUnanswered)
        }
    }
}
