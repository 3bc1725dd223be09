/// What the connections that a response came over prove about its sender.
///
/// Bytes of one kind never become part of a file of another kind unless a digest of the caller proves them: without a
/// verified certificate, anyone on the network may have sent them.
package enum ServerTrust: Sendable, Hashable {
    /// A certificate that an authority of the system has signed.
    case verified
    /// A certificate that an authority of the caller has signed; the text identifies the authorities.
    case authorities(String)
    /// A certificate that nothing has verified.
    case unverified
    /// No certificate: plain HTTP, for at least one of the requests.
    case plain

    /// The trust in a response from a URL, for a client that verifies certificates.
    init(_ urls: DownloadURL...) {
        self = urls.allSatisfy { $0.scheme == "https" } ? .verified : .plain
    }

    /// Whether a certificate was verified.
    package var isTrusted: Bool { self != .unverified && self != .plain }

    /// A short text for the store.
    var stored: String {
        switch self {
        case .verified: "tls"
        case .authorities(let text): "ca:\(text)"
        case .unverified: "unverified"
        case .plain: "http"
        }
    }

    /// Reads ``stored``; nil if it is not valid.
    init?(stored: String) {
        switch stored {
        case "tls": self = .verified
        case "unverified": self = .unverified
        case "http": self = .plain
        case _ where stored.hasPrefix("ca:"): self = .authorities(String(stored.dropFirst(3)))
        default: return nil
        }
    }
}
