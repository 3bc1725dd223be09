internal import ArgumentParser

/// What can be typed at the end of a command line.
struct CompletionCourse {
    /// What completes a word.
    enum Answer: Equatable {
        /// One of these words.
        case words([Candidate])
        /// The path of a file or folder.
        case files
        /// The path of a folder.
        case folders
        /// The name of an entry; only those that are pinned or not, unless nil.
        case entries(pinned: Bool?)
        /// The URL of an entry.
        case urls
        /// The name of a job; only those that are left to do, unless false.
        case jobs(onlyLeft: Bool)
    }

    /// A word that completes the current one, or its beginning, and what it means.
    struct Candidate: Equatable {
        var text: String
        var meaning: String
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
        let commands = root.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        guard let name = words.dropLast().first else {
            answer = .words(
                word.hasPrefix("-")
                    ? Self.options(of: CommandShape(of: [root]), without: [])
                    : Self.names(of: commands)
                        + [Candidate(text: "help", meaning: "Show subcommand help information.")])
            return
        }
        if name == "help" {
            let topics = HelpTopic.allCases.map { Candidate(text: $0.rawValue, meaning: "") }
            if words.count == 2 { answer = .words(Self.names(of: commands) + topics) }
            return
        }
        guard let command = root.subcommand(name), command.configuration.shouldDisplay else { return }
        decide(words.dropFirst(), CommandShape(of: [command]), command.configuration.commandName ?? name)
    }

    /// Decides with the arguments of a command.
    private mutating func decide(_ words: ArraySlice<String>, _ shape: CommandShape, _ command: String) {
        var (used, count, isAfterTerminator): (Set<String>, Int, Bool) = ([], 0, false)
        var expecting: CommandShape.Argument?
        for word in words.dropLast() {
            if let option = expecting {
                note(word, for: option)
                expecting = nil
            } else if isAfterTerminator || !word.hasPrefix("-") || word == "-" {
                count += 1
            } else if word == "--" {
                isAfterTerminator = true
            } else {
                let (name, value) = Self.parts(of: word)
                used.formUnion(shape.argument(name)?.texts ?? [])
                if let option = Self.option(word, in: shape) {
                    if let value { note(value, for: option) } else { expecting = option }
                }
            }
        }
        if let option = expecting, option.takesDashes || !word.hasPrefix("-") || word == "-" {
            answer = Self.answer(for: option, of: command)
        } else if isAfterTerminator || !word.hasPrefix("-") {
            // The last argument may take all others.
            let positionals = shape.positionals
            let last = positionals.last.flatMap { $0.isRepeating ? $0 : nil }
            if let argument = count < positionals.count ? positionals[count] : last {
                answer = Self.answer(for: argument, of: command)
            }
        } else if let value = Self.parts(of: word).value {
            guard let option = Self.option(word, in: shape) else { return }
            head = String(word.dropLast(value.count))
            word = value
            answer = Self.answer(for: option, of: command)
        } else {
            answer = .words(Self.options(of: shape, without: used))
        }
    }

    /// Remembers the value of an option that matters for other words.
    private mutating func note(_ value: String, for option: CommandShape.Argument) {
        if option.texts.contains("--store") { store = value }
    }

    /// Returns the name of an option, and its value if that is in the same word.
    private static func parts(of word: String) -> (name: String, value: String?) {
        guard word.hasPrefix("--"), let equal = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<equal]), String(word[word.index(after: equal)...]))
    }

    /// Returns the option of a word, the value of which is in the same word or follows: `--name`, `--name=value`, `-n`
    /// or `-qn`.
    private static func option(_ word: String, in shape: CommandShape) -> CommandShape.Argument? {
        let name = word.hasPrefix("--") ? parts(of: word).name : "-" + word.suffix(1)
        guard let argument = shape.argument(name), argument.kind == .option else { return nil }
        // `-o` with its value in the same word.
        if !word.hasPrefix("--"),
            word.dropFirst().dropLast().contains(where: { shape.argument("-\($0)")?.kind == .option })
        {
            return nil
        }
        return argument
    }

    private static func names(of commands: [any ParsableCommand.Type]) -> [Candidate] {
        commands.compactMap { command in
            let configuration = command.configuration
            return configuration.commandName.map { Candidate(text: $0, meaning: configuration.abstract) }
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
        if let values = argument.allValues, !values.isEmpty {
            return .words(values.map { Candidate(text: $0, meaning: "") })
        }
        return switch argument.valueName {
        case "dir": .folders
        case "file", "path": .files
        case "job": .jobs(onlyLeft: command != "forget")
        case "entry" where command == "pin": .entries(pinned: false)
        case "entry" where command == "unpin": .entries(pinned: true)
        case "entry": .entries(pinned: nil)
        // A partial download is continued by its URL.
        case "url" where argument.kind == .positional && command == "get": .urls
        default: .words(Self.parts(of: argument.valueName ?? ""))
        }
    }

    /// Returns the values that a name such as `if-range|if-match|head` lists.
    private static func parts(of valueName: String) -> [Candidate] {
        let values = valueName.split(separator: "|").map { Candidate(text: String($0), meaning: "") }
        return values.count > 1 ? values : []
    }
}
