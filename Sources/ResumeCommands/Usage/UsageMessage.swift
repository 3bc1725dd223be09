import ArgumentParser
import ResumeHTTP

/// Corrects messages of the argument parser about names that do not exist.
enum UsageMessage {
    /// Returns a message that says which command or option was probably meant.
    ///
    /// - Parameters:
    ///   - message: The parser's message, whose first line is replaced if a name is wrong.
    ///   - arguments: The arguments.
    ///   - root: The program.
    /// - Returns: The message.
    static func corrected(_ message: String, _ arguments: [String], of root: any ParsableCommand.Type) -> String {
        guard let typed = arguments.first else { return message }
        let problem: String?
        if let command = root.subcommand(typed) {
            // The parser first reports what is wrong with the rest, such as the value of an option that does not exist.
            let options = CommandShape(of: [command])
            problem = options.read(arguments.dropFirst()).unknown.map { unknown($0, options) }
        } else {
            problem = typed == "help" || typed.hasPrefix("-") ? nil : unknown(typed, root.configuration.subcommands)
        }
        var lines = message.parts(at: "\n")
        if let problem { lines[0] = "Error: \(problem)" }
        // The parser leaves the program out of this line, if it has parsed the command alone.
        if let last = lines.last, last.hasPrefix("  See '"), !last.hasPrefix("  See 'resumectl") {
            lines[lines.endIndex - 1] = "  See 'resumectl \(last.dropFirst("  See '".count))"
        }
        return lines.joined(separator: "\n")
    }

    private static func unknown(_ option: String, _ options: CommandShape) -> String {
        let problem = "unknown option '\(option)'"
        if let instead = ForeignOptions.advice(on: option, options) { return "\(problem); \(instead)" }
        let name = Suggestion.name(for: String(option.drop { $0 == "-" }), among: options.longNames)
        return name.map { "\(problem); did you mean '--\($0)'?" } ?? problem
    }

    private static func unknown(_ typed: String, _ commands: [any ParsableCommand.Type]) -> String {
        let names = commands.compactMap { $0.configuration.commandName }
        // The text may be a secret unless it is nearly the name of a command; ``Redaction/usage(_:arguments:)`` then
        // replaces it.
        let advice: String
        if let name = Suggestion.commands[typed] {
            advice = "use 'resumectl \(name)'"
        } else if ["pause", "stop"].contains(typed) {
            advice = sentence("advice-pause")
        } else if let name = Suggestion.name(for: typed, among: names) {
            advice = "did you mean '\(name)'?"
        } else if (try? DownloadURL(typed)) != nil {
            advice = "to download a URL, run 'resumectl get URL'"
        } else {
            advice = "the commands are \(names.joined(separator: ", "))"
        }
        return "unknown command '\(typed)'; \(advice)"
    }
}
