import ArgumentParser
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The arguments of a command or of several, as the parser describes them.
struct CommandShape {
    /// An option, a flag or a positional argument.
    struct Argument: Decodable {
        /// What an argument is.
        enum Kind: String, Decodable {
            case positional, option, flag
        }

        struct Name: Decodable {
            /// `long`, or another kind with one dash.
            let kind: String
            let name: String

            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        let kind: Kind
        private let names: [Name]?
        let valueName: String?
        /// The values, if there are few.
        let allValues: [String]?
        let isRepeating: Bool
        /// Whether the help shows it.
        let shouldDisplay: Bool
        let abstract: String?
        private let parsingStrategy: String?
        private let defaultValue: String?

        /// The names with dashes.
        var texts: [String] { names?.map(\.text) ?? [] }
        /// The names that begin with two dashes, without these.
        var longNames: [String] { names?.filter { $0.kind == "long" }.map(\.name) ?? [] }
        /// Whether a value may begin with a dash.
        var takesDashes: Bool { parsingStrategy == "unconditional" }

        /// The value that is used without the option, as the help states it; nil if there is none.
        ///
        /// The parser does not know what is used in place of nil; the text states it.
        var valueIfUnset: String? {
            defaultValue ?? abstract?.firstMatch(of: /\(default: (\S+)\)/).map { String($0.1) }
        }
    }

    private struct Dump: Decodable {
        struct Command: Decodable {
            let arguments: [Argument]?
        }

        let command: Command
    }

    /// Empty if the parser describes them in an unknown form.
    let arguments: [Argument]

    init(of commands: [any ParsableCommand.Type]) {
        arguments = commands.flatMap { command in
            (try? JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8)))?.command.arguments ?? []
        }
    }

    /// Returns the option or flag with a name, including the dashes.
    func argument(_ name: String) -> Argument? { arguments.first { $0.texts.contains(name) } }
}

extension ParsableCommand {
    /// Returns the command that a text means, by its name or an alias; nil if there is none.
    static func subcommand(_ text: String?) -> (any ParsableCommand.Type)? {
        configuration.subcommands.first { command in
            let configuration = command.configuration
            return configuration.commandName == text || configuration.aliases.contains { $0 == text }
        }
    }

    /// Parses the arguments, of which the first one names a command.
    ///
    /// That command parses the others: as a part of the program, the parser makes its options twice. Without others, the
    /// parser would answer a missing one with all of the help.
    static func parse(all arguments: [String]) throws -> any ParsableCommand {
        guard arguments.count > 1, let command = subcommand(arguments[0]) else { return try parseAsRoot(arguments) }
        return try command.parseAsRoot(Array(arguments.dropFirst()))
    }
}
