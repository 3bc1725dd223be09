/// How a request ended, as far as what follows depends on it.
package enum RequestOutcome: Error {
    /// The body ended after adding this many bytes; if there is a failure, it ended early or there was no response.
    case body(received: Int64, failure: (any Error)?)
    /// The response is not usable. Request the whole representation.
    case askForWhole(Reason)
    /// Send the same request again later.
    case retry(Reason, afterSeconds: Int64? = nil, status: Int? = nil)
    /// The server serves other downloads instead. Wait until one of them ends.
    case crowded(Reason?)
    /// An origin that a redirect leads to asks to wait until a time.
    case closed(String, until: Duration)
    /// The stored bytes are wrong, or the response is. Restart beside them.
    case discard(Reason)
    /// The server sends an older version, of which bytes are stored. Request the rest of it.
    case wentBack
    /// The response was not used, since more is known now: another URL, other header fields, another range. Plan again at
    /// once.
    case askAgain

    /// Why the request ended; nil if only the failure of its body tells.
    package var reason: Reason? {
        switch self {
        case .askForWhole(let reason), .retry(let reason, _, _), .discard(let reason): reason
        case .crowded(let reason): reason
        case .wentBack: .olderVersion
        case .body, .closed, .askAgain: nil
        }
    }
}
