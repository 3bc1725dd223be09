/// The error for a text or bytes that are not what they should be, such as a URL, ranges or a digest.
public struct InvalidInput: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to use instead.
    ///
    /// It does not repeat the input, which may be a secret.
    public let description: String
    /// The scheme of a URL that is not supported; nil for other errors.
    package private(set) var scheme: String?

    package init(_ description: String) { self.description = description }

    package static let notAURL = InvalidInput(sentence("not-a-url"))
    /// No host, or a host with invalid characters.
    static let badHost = InvalidInput(sentence("bad-host"))
    /// A host that is not in ASCII.
    static let internationalHost = InvalidInput(sentence("host-not-ascii"))

    /// A scheme other than `http` and `https`.
    static func unsupportedScheme(_ scheme: String) -> InvalidInput {
        var error = InvalidInput(sentence("unsupported-scheme", Printable.escaped(scheme)))
        error.scheme = scheme
        return error
    }
}
