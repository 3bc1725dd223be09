import ArgumentParser
import ResumeHTTP

/// Options whose help is in a table, declared by their names: letters and words, separated by spaces.
///
/// The first word finds the line. If options of several commands have the same name, a command and a slash precede it.
extension ArgumentHelp {
    /// The help of each option, from lines such as `output path: File to write.`, of which `path` is the value.
    ///
    /// A dot precedes the name of an option that only --help-hidden shows.
    private static let table = {
        let lines = String(decoding: PackageResources.options_txt, as: UTF8.self).pieces(at: "\n")
        let pairs = lines.map { line in
            let parts = line.pieces(at: ": ", most: 1)
            let words = parts[0].pieces(at: " ")
            let help = ArgumentHelp(
                parts.count > 1 ? parts[1] : "", valueName: words.dropFirst().first,
                visibility: line.hasPrefix(".") ? .hidden : .default)
            return (String(words[0].trimmingPrefix(".")), help)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()

    /// The help of an option, or of an argument that a word stands for.
    static func of(_ names: String) -> ArgumentHelp {
        names.pieces(at: " ").first { $0.utf8.count > 1 }.flatMap { table[$0] } ?? ""
    }
}

extension NameSpecification {
    /// The names of an option; its value may follow a letter at once.
    static func option(_ names: String, isJoined: Bool = true) -> NameSpecification {
        NameSpecification(
            names.pieces(at: " ").map { word in
                let name = word.pieces(at: "/").last ?? word
                return name.utf8.count > 1 ? .customLong(name) : .customShort(Character(name), allowingJoined: isJoined)
            })
    }
}

extension Flag where Value == Bool {
    init(wrappedValue: Bool, _ names: String) {
        self.init(wrappedValue: wrappedValue, name: .option(names, isJoined: false), help: .of(names))
    }
}

extension Option {
    init<Word: ExpressibleByArgument>(_ names: String, completion: CompletionKind? = nil) where Value == Word? {
        self.init(name: .option(names), help: .of(names), completion: completion)
    }

    init(wrappedValue: Value, _ names: String) where Value: ExpressibleByArgument {
        self.init(wrappedValue: wrappedValue, name: .option(names), help: .of(names))
    }

    init(wrappedValue: [String], _ names: String) where Value == [String] {
        self.init(wrappedValue: wrappedValue, name: .option(names), help: .of(names))
    }

    init<Parsed>(
        _ names: String, parsing: SingleValueParsingStrategy = .next,
        transform: @escaping @Sendable (String) throws -> Parsed
    ) where Value == Parsed? {
        self.init(name: .option(names), parsing: parsing, help: .of(names), transform: transform)
    }

    /// Makes an option with such a value, which may begin with a dash, so that a message shows the accepted forms.
    init<Typed: TypedValue>(
        _ names: String, _ parse: @escaping @Sendable (String) throws -> Typed = Typed.argument
    ) where Value == Typed? {
        self.init(names, parsing: .unconditional, transform: parse)
    }
}
