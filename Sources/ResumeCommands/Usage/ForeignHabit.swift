import ArgumentParser
import ResumeHTTP

/// Arguments of other programs that would be accepted here, and mean something else.
struct ForeignHabit {
    /// The arguments after the command, without those after `--`.
    private let words: [String]
    /// The place of one of them.
    private let index: Int

    /// Returns why the arguments are probably not what the user means.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with the command.
    ///   - root: The program.
    /// - Returns: The message; nil if nothing is wrong.
    static func problem(in arguments: [String], of root: any ParsableCommand.Type) -> String? {
        guard let command = root.subcommand(arguments.first) else { return nil }
        let words = Array(arguments.dropFirst().prefix { $0 != "--" })
        let habits = words.indices.map { ForeignHabit(words: words, index: $0) }
        // The options are read only if there is an argument of one of these forms, since that takes long.
        let suspects = habits.filter(\.isSuspect)
        guard !suspects.isEmpty else { return nil }
        let shape = CommandShape(of: [command])
        return suspects.lazy.compactMap { $0.problem(shape) }.first
    }

    /// Whether this may be another program's option.
    private var isSuspect: Bool {
        guard word.hasPrefix("-"), !word.hasPrefix("--") else { return false }
        return isLong || word == "-O" || isForeign
    }

    /// The argument.
    private var word: String { words[index] }

    /// Whether there is more than one letter.
    private var isLong: Bool { word.utf8.count > 2 }

    /// The next argument; empty if there is none.
    private var next: String { words.dropFirst(index + 1).first ?? "" }

    private func problem(_ shape: CommandShape) -> String? {
        guard index == 0 || shape.takesValue(words[index - 1]) != true else { return nil }
        if isLong {
            // wget's long options with one dash, which here are `-n` (netrc) and another option.
            if let advice = ForeignOptions.advice(on: word, shape) {
                return "\(word): \(advice)"
            }
            if word.utf8.count > 3, shape.longNames.contains(String(word.dropFirst())) {
                return sentence("one-dash", word, word)
            }
        }
        let option = String(word.prefix(2))
        guard let takesValue = shape.takesValue(option) else { return nil }
        if let problem = ofRemoteName, shape.takesValue("-O") == false {
            return problem
        }
        guard isForeign, let advice = ForeignOptions.advice(on: option, shape) else { return nil }
        let name = shape.argument(option)?.longNames.last ?? ""
        let here = takesValue ? "--\(name), as in curl" : "--\(name)"
        return "\(advice). Here, \(option) is \(here)."
    }

    /// Whether what follows an option shows that it is another program's.
    private var isForeign: Bool {
        switch word {
        case "-b", "-E", "-H":
            // In wget, these have no value.
            return isURL(next)
        case "-x":
            return isURL(next) && words.count(where: isURL) == 1
        case "-A":
            // A list of endings or patterns.
            return next.contains("*") || next.contains(",") && !next.contains(" ")
        case "-e":
            // A line of the configuration.
            return next.contains("=") && !next.contains("/")
        case "-c":
            // curl's has a value.
            return isName
        case "-s":
            return Int(next) != nil
        default:
            return word.hasPrefix("-s") && Int(word.dropFirst(2)) != nil
        }
    }

    private func isURL(_ text: String) -> Bool {
        text.hasPrefix("http://") || text.hasPrefix("https://")
    }

    /// Whether a name of a file follows: it is no URL, and another argument is one.
    private var isName: Bool {
        guard !next.isEmpty, !next.hasPrefix("-"), !next.contains("://") else { return false }
        return words.contains { $0.contains("://") }
    }

    /// Returns the problem of a word that may contain `-O`, which takes a name in wget, but none in curl, or that ends in
    /// `o-`.
    private var ofRemoteName: String? {
        let toOutput = "to write to standard output, use -o -"
        // The parser takes no dash from a group of letters.
        let others = word.hasSuffix("o-") ? word.dropFirst().dropLast(2) : word.dropFirst().prefix { $0 != "O" }
        guard others.allSatisfy({ "qcLfsSJnvk".contains($0) }) else { return nil }
        if word.hasSuffix("O-") || word.hasSuffix("o-") && !others.isEmpty {
            return toOutput
        }
        guard word.hasSuffix("O") else { return nil }
        if next == "-" {
            return toOutput
        }
        guard isName else { return nil }
        let name = Redaction.name(next).map(ShellWord.quoted) ?? "FILE"
        return sentence("no-name", name)
    }
}
