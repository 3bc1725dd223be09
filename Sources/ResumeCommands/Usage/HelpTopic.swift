import ArgumentParser

/// Texts of `resumectl help TOPIC` that belong to no single command.
enum HelpTopic: String, CaseIterable {
    case exitStatus = "exit-status"
    case environment
    case files
    case errors

    /// Returns the problem of a request for help about something that does not exist; nil if it does.
    static func problem(with arguments: [String], of root: any ParsableCommand.Type) -> String? {
        guard arguments.first == "help", let topic = arguments.dropFirst().first, !topic.hasPrefix("-"),
            topic != "help", root.subcommand(topic) == nil, HelpTopic(rawValue: topic) == nil
        else { return nil }
        let shown = Redaction.typed(topic).map { " on '\($0)'" } ?? ""
        let topics = allCases.map(\.rawValue).joined(separator: ", ")
        return "there is no help\(shown); the topics are \(topics), and the commands, which 'resumectl help' lists"
    }

    /// Returns the text that the arguments ask for; nil if they are others.
    static func text(for arguments: [String]) -> String? {
        guard arguments.count == 2, arguments[0] == "help" else { return nil }
        return HelpTopic(rawValue: arguments[1])?.text
    }

    /// The texts about each command.
    fileprivate static let commands = {
        let sections = String(decoding: PackageResources.commands_txt, as: UTF8.self).split(separator: "== ")
        return Dictionary(
            uniqueKeysWithValues: sections.map { section in
                let name = section.prefix { $0 != "\n" }
                return (String(name), String(section.dropFirst(name.count + 1).dropLast()))
            })
    }()

    private var text: String {
        let bytes =
            switch self {
            case .exitStatus: PackageResources.exit_status_txt
            case .environment: PackageResources.environment_txt
            case .errors: PackageResources.errors_txt
            case .files: PackageResources.files_txt
            }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }
}

extension CommandConfiguration {
    /// Describes a command with its texts: what it does, its usage if the parser's own would not be clear, and what the
    /// help says besides.
    init(_ name: String, version: String = "", groups: [CommandGroup] = [], aliases: [String] = []) {
        let parts = HelpTopic.commands[name]?.split(separator: "\n--\n").map(String.init) ?? []
        self.init(
            commandName: name, abstract: parts.first ?? "", usage: parts.count > 2 ? parts[1] : nil,
            discussion: parts.last ?? "", version: version, groupedSubcommands: groups, aliases: aliases)
    }
}
