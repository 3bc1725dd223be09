/// The error for a text or bytes that are not what they should be, such as a URL, ranges or a digest.
public struct InvalidInput: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to use instead.
    ///
    /// It does not repeat the input, which may be a secret.
    public let description: String
    /// The scheme of a URL that is not supported; nil for other errors.
    package private(set) var scheme: String?

    package init(_ description: String) { self.description = description }

    package static let notAURL = InvalidInput("not an absolute URL; use one such as https://example.org/file")
    /// No host, or a host with invalid characters.
    static let badHost = InvalidInput("the URL has no valid host; use one such as https://example.org/file")
    /// A host that is not in ASCII.
    static let internationalHost = InvalidInput(
        "the URL's host is not in ASCII; use its form that begins with xn--")

    /// A scheme other than `http` and `https`.
    static func unsupportedScheme(_ scheme: String) -> InvalidInput {
        var error = InvalidInput("the scheme '\(Printable.escaped(scheme))' is not supported; use http or https")
        error.scheme = scheme
        return error
    }
}
