/// The options among arguments.
extension CommandShape {
    /// The names of options that begin with two dashes, without these.
    var longNames: [String] { arguments.flatMap(\.longNames).sorted() }

    /// Whether an option takes a value; nil if the command has no such option.
    func takesValue(_ name: String) -> Bool? { argument(name).map { $0.kind == .option } }

    /// What the arguments after a command's name contain.
    struct Given {
        /// The values by the names of their options with dashes; empty for flags.
        var values: [String: String] = [:]
        /// The first name that the command does not have.
        var unknown: String?
        /// The option whose value would come next.
        var expecting: String?
        /// The number of positional arguments.
        var positionals = 0
        /// Whether there is a `--`, after which all arguments are positional.
        var isTerminated = false
    }

    /// Reads arguments as the parser does.
    func read(_ arguments: some Sequence<String>) -> Given {
        var given = Given()
        for argument in arguments {
            if let name = given.expecting {
                given.values[name] = argument
                given.expecting = nil
            } else if given.isTerminated || !isOption(argument) {
                given.positionals += 1
            } else if argument == "--" {
                given.isTerminated = true
            } else {
                read(argument, into: &given)
            }
        }
        return given
    }

    private func read(_ argument: String, into given: inout Given) {
        // The parser adds this one to each command, and does not describe it.
        guard argument != "--version" else { return }
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if let takesValue = takesValue(parts[0]) {
            given.values[parts[0]] = parts.count > 1 ? parts[1] : ""
            if takesValue, parts.count == 1 { given.expecting = parts[0] }
            return
        }
        guard !argument.hasPrefix("--") else {
            given.unknown = given.unknown ?? parts[0]
            return
        }
        // Several letters, of which one may have the rest as its value.
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            guard let takesValue = takesValue("-\(letter)") else {
                given.unknown = given.unknown ?? (letter == "-" ? argument : "-\(letter)")
                return
            }
            given.values["-\(letter)"] = takesValue ? String(letters) : ""
            guard takesValue else { continue }
            if letters.isEmpty { given.expecting = "-\(letter)" }
            return
        }
    }

    /// Whether a text is an option, not a negative number or `-`.
    private func isOption(_ text: String) -> Bool {
        guard text.hasPrefix("-"), let second = text.dropFirst().first else { return false }
        return second == "-" || second == "#" || second.isLetter || takesValue("-\(second)") != nil
    }
}
