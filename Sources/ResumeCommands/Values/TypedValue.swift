import ArgumentParser

/// A value of an option that is typed in a form of its own.
protocol TypedValue: Sendable {
    /// What the help calls it.
    static var name: String { get }

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

extension Option {
    /// Makes an option with such a value, which may begin with a dash, so that a message shows the accepted forms.
    init<Typed: TypedValue>(
        typed abstract: String, isHidden: Bool = false,
        _ parse: @escaping @Sendable (String) throws -> Typed = { try Typed.argument($0) }
    ) where Value == Typed? {
        let help = ArgumentHelp(abstract, valueName: Typed.name, visibility: isHidden ? .hidden : .default)
        self.init(parsing: .unconditional, help: help, transform: parse)
    }
}
