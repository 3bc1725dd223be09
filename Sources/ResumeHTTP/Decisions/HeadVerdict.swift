public import HTTPTypes

/// What the answer to a HEAD says about the range request that is to follow.
///
/// It never makes a download complete: only bytes do.
public enum HeadVerdict: Sendable, Hashable {
    /// The server has the representation that is held: ask for the rest.
    case unchanged
    /// It has another one: ask for the whole.
    case changed(Reason)
    /// HEAD is not answered, or tells nothing: ask for the rest with `If-Range`.
    case unknown(Reason)
    /// Ask again later.
    case retry(reason: Reason, afterSeconds: Int64?)

    /// Judges the answer to a HEAD.
    ///
    /// - Parameters:
    ///   - response: The response's head; redirects have been followed already.
    ///   - validator: What the bytes are held under.
    public init(for response: HTTPResponse, validator: Validator) {
        let fields = response.headerFields
        switch response.status.code {
        case 200, 206:
            let answer = Verdict.validator(in: fields, like: validator)
            if answer == validator {
                self = .unchanged
            } else if let answer {
                self = .changed(.representationChanged(validator, answer))
            } else {
                self = .unknown(.headUnanswered)
            }
        case let code where Verdict.isForNow(code):
            self = .retry(reason: Verdict.reason(response), afterSeconds: RetryAfter.seconds(in: fields))
        default:
            // A URL that is signed for GET answers 403 to HEAD, others 405 or 501.
            self = .unknown(.headUnanswered)
        }
    }
}
