import ArgumentParser

/// A value of an option that is typed in a form of its own.
protocol TypedValue: Sendable {
    /// The forms in which it is accepted.
    static var accepted: String { get }

    init?(_ text: String)
}

extension TypedValue {
    /// Parses it.
    ///
    /// - Throws: `ValidationError` with the accepted forms.
    static func argument(_ text: String) throws -> Self { try Self(text).orRefuse(accepted) }
}
