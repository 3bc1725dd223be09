import ArgumentParser
import ResumeHTTP

/// Arguments of other programs that would be accepted here, and mean something else.
enum ForeignHabit {
    /// wget's long options with one dash, which here are `-n` (netrc) and another option.
    private static let ofWget = WordTable(PackageResources.wget_options_txt)

    /// Returns why the arguments are probably not what the user means.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with the command.
    ///   - root: The program.
    /// - Returns: The message; nil if nothing is wrong.
    static func problem(in arguments: [String], of root: any ParsableCommand.Type) -> String? {
        guard let command = root.subcommand(arguments.first) else { return nil }
        let words = Array(arguments.dropFirst().prefix { $0 != "--" })
        // The options are read only if there is an argument of one of these forms, since that takes long.
        let suspects = words.indices.filter { index in
            let word = words[index]
            return word.hasPrefix("-") && !word.hasPrefix("--") && (word.utf8.count > 2 || word == "-O")
        }
        guard !suspects.isEmpty else { return nil }
        let shape = CommandShape(of: [command])
        for index in suspects where index == 0 || shape.takesValue(words[index - 1]) != true {
            let word = words[index]
            if shape.takesValue("-n") == false, let meaning = ofWget[word] { return "\(word) is \(meaning)" }
            if word.utf8.count > 3, shape.longNames.contains(String(word.dropFirst())) {
                return "'\(word)' begins with one dash; did you mean '-\(word)'?"
            }
            if shape.takesValue("-O") == false, let problem = ofRemoteName(word, words.dropFirst(index + 1)) {
                return problem
            }
        }
        return nil
    }

    /// Returns the problem of a word that may contain `-O`, which takes a name in wget, but none in curl.
    private static func ofRemoteName(_ word: String, _ rest: ArraySlice<String>) -> String? {
        let toOutput = "to write to standard output, use -o -"
        let others = word.dropFirst().prefix { $0 != "O" }
        guard others.allSatisfy({ "qcLfsSJnvk".contains($0) }) else { return nil }
        if word.hasSuffix("O-") { return toOutput }
        guard word.hasSuffix("O"), let next = rest.first else { return nil }
        if next == "-" { return toOutput }
        // With one word only, that is the URL.
        guard !next.hasPrefix("-"), !next.contains("://"),
            rest.dropFirst().contains(where: { $0.contains("://") })
        else { return nil }
        let name = Redaction.name(next).map(ShellWord.quoted) ?? "FILE"
        return "-O takes no name, as in curl; to name the file, use -o \(name)"
    }
}
