import ResumeHTTP

/// A command that a message suggests, with the store that the user has named.
enum Hint {
    /// The options --store and --store-shared, as suggested commands repeat them; empty if the user has given neither.
    @TaskLocal static var store = ""

    /// Returns a command of this program in quotes.
    ///
    /// - Parameters:
    ///   - name: The command's name.
    ///   - arguments: The rest of it, with words quoted for the shell.
    /// - Returns: The command.
    static func run(_ name: String, _ arguments: String...) -> String {
        "'\((["resumectl", name + store] + arguments).joined(separator: " "))'"
    }

    /// Returns these options of a command line, as ``store`` has them.
    static func option(in arguments: [String]) -> String {
        let options = arguments.prefix { $0 != "--" }
        let shared = options.contains("--store-shared") ? " --store-shared" : ""
        guard let index = options.lastIndex(where: { $0 == "--store" || $0.hasPrefix("--store=") }) else {
            return shared
        }
        let next = options.dropFirst(index + 1).first
        let path = options[index] == "--store" ? next : String(options[index].trimmingPrefix("--store="))
        return path.map { " --store\($0.hasPrefix("-") ? "=" : " ")\(ShellWord.quoted($0))\(shared)" } ?? ""
    }
}
