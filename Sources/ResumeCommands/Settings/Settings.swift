import ArgumentParser
import ResumeFiles
import ResumeHTTP

/// The defaults of `get` and `resume` in the configuration file and in the environment.
///
/// The arguments of the command line take precedence over the environment, and that over the file.
struct Settings {
    private static let prefix = "RESUMECTL_"
    /// Variables that are not options of `get`, or that programs of `get` receive.
    private static let others = Set("STORE CONFIG KEY URL STATUS PATH EVENT".pieces(at: " "))

    /// What counts, by name in order of the names.
    private(set) var effective: [Setting] = []
    private let options: CommandShape

    private let root: any ParsableCommand.Type

    /// Reads the settings; nil if there are none, which costs nothing.
    ///
    /// - Parameters:
    ///   - context: The environment.
    ///   - root: The program.
    /// - Throws: ``CommandFailure`` with the place of an error.
    init?(_ context: CommandContext, of root: any ParsableCommand.Type) throws(CommandFailure) {
        let file = try Self.path(context.environment)
        let variables = context.environment.filter { name, value in
            name.hasPrefix(Self.prefix) && !value.isEmpty
                && !Self.others.contains(String(name.dropFirst(Self.prefix.count)))
        }
        guard file != nil || !variables.isEmpty else { return nil }
        self.root = root
        options = Self.options(root)
        var settings = try file.map(Self.settings) ?? []
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            let option = name.dropFirst(Self.prefix.count).lowercased().replacing("_", with: "-")
            settings.append(Setting(name: option, value: value, source: name))
        }
        for setting in settings {
            guard let problem = setting.problem(options) else { continue }
            throw CommandFailure(.usage, "\(setting.source): \(problem)")
        }
        let home = context.environment["HOME"] ?? ""
        for index in settings.indices where settings[index].value.hasPrefix("~/") && !home.isEmpty {
            settings[index].value = home + settings[index].value.dropFirst()
        }
        // The store has a variable of its own, which is read with the store.
        let hasStore = context.environment["\(Self.prefix)STORE"]?.isEmpty == false
        settings.removeAll { hasStore && $0.name == "store" }
        // Of several, the last one counts.
        for setting in settings {
            effective.removeAll { $0.name == setting.name && setting.name != "resolve" }
            effective.append(setting)
        }
    }

    /// The options that may have settings.
    private static func options(_ root: any ParsableCommand.Type) -> CommandShape {
        CommandShape(of: root.configuration.subcommands.filter(hasDefaults))
    }

    /// The values of options that are not set, by their names.
    static func builtIn(_ root: any ParsableCommand.Type) -> [String: String] {
        options(root).arguments.reduce(into: [:]) { values, option in
            guard let name = option.longNames.first, !Setting.excluded.contains(name) else { return }
            values[name] = option.valueIfUnset ?? values[name]
        }
    }

    /// Whether all settings apply to a command.
    private static func hasDefaults(_ command: any ParsableCommand.Type) -> Bool {
        ["get", "resume"].contains(command.configuration.commandName)
    }

    /// Returns the path of the file; nil if there is none.
    ///
    /// - Throws: ``CommandFailure`` if the one that is named does not exist.
    static func path(_ environment: [String: String]) throws(CommandFailure) -> String? {
        if let path = environment["\(prefix)CONFIG"] {
            guard path.isEmpty || Folder.isThere(path) else {
                let failure = InputFile.failure(path, errno)
                throw CommandFailure(failure.status, "\(prefix)CONFIG: \(failure.message)")
            }
            return path.isEmpty ? nil : path
        }
        let folder = environment.folder("XDG_CONFIG_HOME", inHome: ".config")
        return folder.map { "\($0)/resumectl/config" }.flatMap { Folder.isThere($0) ? $0 : nil }
    }

    private static func settings(in path: String) throws(CommandFailure) -> [Setting] {
        let file = try InputFile(path)
        // It may name programs to run.
        guard file.isOwn else {
            throw CommandFailure(.usage, sentence("settings-shared", path, ShellWord.quoted(path), prefix))
        }
        var settings: [Setting] = []
        // A pipe is read in parts.
        repeat {
            for line in try file.next(most: .max, until: { false }) {
                let source = "\(Printable.escaped(path)), line \(line.number)"
                // Each text matches.
                guard let parts = line.text?.wholeMatch(of: /(?s)(?:--)?([^=]*?)\s*(?:=\s*(.*))?/) else {
                    throw CommandFailure(.usage, "\(source): not in UTF-8")
                }
                var value = parts.2 ?? ""
                if value.count > 1, value.hasPrefix("\""), value.hasSuffix("\"") {
                    value = value.dropFirst().dropLast()
                }
                settings.append(Setting(name: String(parts.1), value: String(value), source: source))
            }
        } while !file.isDone
        return settings
    }

    /// Parses the arguments together with the settings that concern their command.
    ///
    /// They are parsed once, since an option may name a pipe to read from.
    ///
    /// - Parameter arguments: The arguments of the command line, which take precedence.
    /// - Returns: The command.
    /// - Throws: ``CommandFailure`` with the place of a value that is not accepted, or the error of the parser.
    func parse(_ arguments: [String]) throws -> any ParsableCommand {
        guard let name = arguments.first, let command = root.subcommand(name) else {
            return try root.parse(all: arguments)
        }
        let own = CommandShape(of: [command])
        let takesAll = Self.hasDefaults(command)
        let given = own.read(arguments.dropFirst()).values
        let used = effective.filter { setting in
            own.takesValue("--\(setting.name)") != nil && (takesAll || setting.name.hasPrefix("store"))
                && !(Self.rivals[setting.name] ?? "").split(separator: " ").contains { given[String($0)] != nil }
        }
        // Those of the settings come first, so that others take precedence.
        let defaults = used.flatMap { $0.arguments(options) }
        do {
            return try root.parse(all: [name] + defaults + arguments.dropFirst())
        } catch {
            // What is wrong without settings is not wrong because of one.
            let least = name == "get" ? ["--input-file=-"] : []
            guard (try? root.parse(all: [name] + least)) != nil else { throw error }
            // The parser does not know where an argument came from.
            for setting in used {
                do {
                    _ = try root.parse(all: [name] + least + setting.arguments(options))
                } catch {
                    let line = root.message(for: error).prefix { $0 != "\n" }
                    throw CommandFailure(.usage, "\(setting.source): \(line)")
                }
            }
            throw error
        }
    }

    /// The options of the command line that a setting cannot be combined with, and is left out with one of them.
    ///
    /// A default must not change where a script writes either.
    private static let rivals = WordTable(PackageResources.rivals_txt)
}
