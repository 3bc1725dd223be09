/// The options among arguments.
extension CommandShape {
    /// The names of options that begin with two dashes.
    var longNames: [String] { arguments.flatMap(\.texts).filter { $0.hasPrefix("--") }.sorted() }

    /// Whether an option takes a value; nil if the command has no such option.
    func takesValue(_ name: String) -> Bool? { argument(name).map { $0.kind == .option } }

    /// Reads the options among arguments as the parser does.
    ///
    /// - Parameter arguments: The arguments after the command's name.
    /// - Returns: The names with dashes and their values, empty for flags; and the first name that the command does not
    ///   have.
    func read(_ arguments: some Sequence<String>) -> (values: [String: String], unknown: String?) {
        var (values, unknown): ([String: String], String?) = ([:], nil)
        var last: String?
        for argument in arguments {
            if let name = last {
                values[name] = argument
                last = nil
                continue
            }
            if argument == "--" { break }
            // The parser adds this one to each command, and does not describe it.
            guard isOption(argument), argument != "--version" else { continue }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if let takes = takesValue(parts[0]) {
                values[parts[0]] = parts.count > 1 ? parts[1] : ""
                if takes, parts.count == 1 { last = parts[0] }
                continue
            }
            if argument.hasPrefix("--") { unknown = unknown ?? parts[0] }
            // Several letters, of which one may have the rest as its value.
            var letters = argument.dropFirst()
            while !argument.hasPrefix("--"), let letter = letters.popFirst() {
                guard let takes = takesValue("-\(letter)") else {
                    unknown = unknown ?? (letter == "-" ? argument : "-\(letter)")
                    break
                }
                values["-\(letter)"] = takes ? String(letters) : ""
                if takes, letters.isEmpty { last = "-\(letter)" }
                if takes { break }
            }
        }
        return (values, unknown)
    }

    /// Whether a text is an option, not a negative number or `-`.
    private func isOption(_ text: String) -> Bool {
        guard text.hasPrefix("-"), let second = text.dropFirst().first else { return false }
        return second == "-" || second == "#" || second.isLetter || takesValue("-\(second)") != nil
    }
}
