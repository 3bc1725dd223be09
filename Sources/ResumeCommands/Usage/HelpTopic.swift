import ArgumentParser
import ResumeHTTP

/// Texts of `resumectl help TOPIC` that belong to no single command.
enum HelpTopic {
    static let all = "exit-status environment files errors".pieces(at: " ")

    /// Returns the problem of a request for help about something that does not exist; nil if it does.
    static func problem(with arguments: [String], of root: any ParsableCommand.Type) -> String? {
        guard arguments.first == "help", let topic = arguments.dropFirst().first, !topic.hasPrefix("-"),
            topic != "help", root.subcommand(topic) == nil, !all.contains(topic)
        else { return nil }
        let shown = Redaction.typed(topic).map { " on '\($0)'" } ?? ""
        let topics = all.joined(separator: ", ")
        return sentence("no-help", shown, topics)
    }

    /// Returns the text that the arguments ask for; nil if they are others.
    static func text(for arguments: [String]) -> String? {
        if arguments.isEmpty { return texts["start"] }
        guard arguments.count == 2, arguments[0] == "help", all.contains(arguments[1]) else { return nil }
        return texts[arguments[1]]
    }

    /// The texts about each command and topic.
    fileprivate static let texts = {
        let sections = String(decoding: PackageResources.help_txt, as: UTF8.self).pieces(at: "== ")
        return Dictionary(
            uniqueKeysWithValues: sections.map { section in
                let parts = section.pieces(at: "\n", most: 1)
                return (parts[0], String(parts[1].dropLast()))
            })
    }()
}

extension CommandConfiguration {
    /// Describes a command with its texts: what it does, its usage if the parser's own would not be clear, and what the
    /// help says besides.
    ///
    /// A command without groups may also be parsed alone.
    init(_ name: String, groups: [CommandGroup] = [], aliases: [String] = []) {
        let parts = HelpTopic.texts[name]?.pieces(at: "\n--\n") ?? []
        self.init(
            commandName: name, abstract: parts.first ?? "", usage: parts.count > 2 ? parts[1] : nil,
            discussion: parts.last ?? "", version: "0.1.0", groupedSubcommands: groups, aliases: aliases)
        if groups.isEmpty { _superCommandName = "resumectl" }
    }
}
