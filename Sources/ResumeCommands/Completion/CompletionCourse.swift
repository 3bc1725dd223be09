import ArgumentParser
import ResumeStore

extension CompletionAnswer {
    /// What can be typed at the end of a command line.
    struct Course {
        /// What completes a word.
        enum Answer {
            /// One of these words.
            case words([Candidate])
            /// The path of a file or folder.
            case files
            case folders
            /// A name in the store.
            case names(NameSearch.Subject, [NameSearch.Column])
        }

        /// A word that completes the current one, or its beginning, and what it means.
        struct Candidate {
            var text: String
            var meaning = ""
            var isWhole = true
        }

        /// What completes the last word.
        private(set) var answer = Answer.words([])
        /// The beginning of the last word that stays: `--name=`, or nothing.
        private(set) var head = ""
        /// The rest of the last word.
        private(set) var word: String
        /// The value of `--store`.
        private(set) var store: String?

        /// Decides what completes the last of some words.
        ///
        /// - Parameters:
        ///   - words: The words of the command line after the program's name, up to the cursor.
        ///   - root: The program.
        init(_ words: [String], of root: any ParsableCommand.Type) {
            word = words.last ?? ""
            let commands = root.configuration.subcommands.map { $0.configuration }
            let names = commands.map { Candidate(text: $0.commandName ?? "", meaning: $0.abstract) }
            guard words.count > 1 else {
                answer = .words(
                    word.hasPrefix("-")
                        ? Self.options(of: CommandShape(of: [root]), without: [])
                        : names + [Candidate(text: "help", meaning: "Show subcommand help information.")])
                return
            }
            if words[0] == "help" {
                if words.count == 2 { answer = .words(names + HelpTopic.all.map { Candidate(text: $0) }) }
                return
            }
            guard let command = root.subcommand(words[0]) else { return }
            decide(words.dropFirst(), CommandShape(of: [command]), command.configuration.commandName ?? "")
        }

        /// Decides with the arguments of a command.
        private mutating func decide(_ words: ArraySlice<String>, _ shape: CommandShape, _ command: String) {
            let given = shape.read(words.dropLast())
            store = given.values["--store"]
            let isDashed = word.hasPrefix("-")
            if let option = given.expecting.flatMap(shape.argument), option.takesDashes || !isDashed || word == "-" {
                answer = Self.answer(for: option, of: command)
            } else if given.isTerminated || !isDashed {
                // The last argument may take all others.
                let positionals = shape.arguments.filter { $0.kind == .positional }
                let index = min(given.positionals, positionals.count - 1)
                guard index >= 0, index == given.positionals || positionals[index].isRepeating else { return }
                answer = Self.answer(for: positionals[index], of: command)
            } else if let equal = word.firstIndex(of: "="), word.hasPrefix("--") {
                guard let option = shape.argument(String(word[..<equal])), option.kind == .option else { return }
                head = String(word[...equal])
                word = String(word[equal...].dropFirst())
                answer = Self.answer(for: option, of: command)
            } else {
                answer = .words(Self.options(of: shape, without: Set(given.values.keys)))
            }
        }

        /// Returns the options and flags that the help shows.
        private static func options(of shape: CommandShape, without used: Set<String>) -> [Candidate] {
            shape.arguments.filter { argument in
                argument.shouldDisplay && argument.kind != .positional
                    && (argument.isRepeating || used.isDisjoint(with: argument.texts))
            }.flatMap { argument in argument.texts.map { Candidate(text: $0, meaning: argument.abstract ?? "") } }
        }

        /// Returns what completes a value.
        ///
        /// The name of a value says what it is, in the help as well.
        private static func answer(for argument: CommandShape.Argument, of command: String) -> Answer {
            switch argument.valueName {
            case "dir": return .folders
            case "file", "path": return .files
            case "job": return .names(.jobs(onlyLeft: command != "forget"), [.key, .destination])
            case "entry":
                let isPinned = ["pin": false, "unpin": true][command]
                return .names(.entries(pinned: isPinned), [.key, .destination])
            // A partial download is continued by its URL.
            case "url" where argument.kind == .positional && command == "get":
                return .names(.entries(pinned: nil), [.url])
            default:
                // A name such as `if-range|if-match|head` lists the values.
                let parts = (argument.valueName ?? "").split(separator: "|").map(String.init)
                let values = argument.allValues ?? (parts.count > 1 ? parts : [])
                return .words(values.map { Candidate(text: $0) })
            }
        }
    }
}
