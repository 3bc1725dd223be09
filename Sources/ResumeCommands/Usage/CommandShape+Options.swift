/// The options among arguments.
extension CommandShape {
    /// The names of options that begin with two dashes.
    var longNames: [String] { arguments.flatMap(\.names).filter { $0.hasPrefix("--") }.sorted() }

    /// Whether an option takes a value; nil if the command has no such option.
    func takesValue(_ name: String) -> Bool? { argument(name).map { $0.kind == .option } }

    /// Returns the name of the first option that the command does not have.
    ///
    /// - Parameter arguments: The arguments after the command's name.
    /// - Returns: The name without a value; nil if there is none.
    func firstUnknown(in arguments: some Sequence<String>) -> String? {
        var isValue = false
        for argument in arguments {
            if isValue {
                isValue = false
                continue
            }
            if argument == "--" { return nil }
            // The parser adds this one to each command, and does not describe it.
            guard isOption(argument), argument != "--version" else { continue }
            let name = String(argument.prefix { $0 != "=" })
            if let takes = takesValue(name) {
                isValue = takes && name == argument
            } else if argument.hasPrefix("--") {
                return name
            } else {
                // Several letters, of which one may have the rest as its value.
                var letters = argument.dropFirst()
                while let letter = letters.popFirst() {
                    guard let takes = takesValue("-\(letter)") else { return letter == "-" ? argument : "-\(letter)" }
                    isValue = takes && letters.isEmpty
                    if takes { break }
                }
            }
        }
        return nil
    }

    /// Returns the names of the options among arguments, with their values; empty for flags.
    ///
    /// - Parameter arguments: The arguments after the command's name.
    /// - Returns: The names with dashes.
    func names(in arguments: some Sequence<String>) -> [String: String] {
        var names: [String: String] = [:]
        var last: String?
        for argument in arguments {
            if let name = last {
                names[name] = argument
                last = nil
                continue
            }
            if argument == "--" { break }
            guard isOption(argument) else { continue }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if let takes = takesValue(parts[0]) {
                names[parts[0]] = parts.count > 1 ? parts[1] : ""
                if takes, parts.count == 1 { last = parts[0] }
                continue
            }
            var letters = argument.dropFirst()
            while let letter = letters.popFirst(), let takes = takesValue("-\(letter)") {
                names["-\(letter)"] = takes ? String(letters) : ""
                guard takes else { continue }
                if letters.isEmpty { last = "-\(letter)" }
                break
            }
        }
        return names
    }

    /// Whether a text is an option, not a negative number or `-`.
    private func isOption(_ text: String) -> Bool {
        guard text.hasPrefix("-"), let second = text.dropFirst().first else { return false }
        return second == "-" || second == "#" || second.isLetter || takesValue("-\(second)") != nil
    }
}
