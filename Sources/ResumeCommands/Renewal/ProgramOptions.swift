import ArgumentParser

/// The programs that downloads start.
struct ProgramOptions: ParsableArguments {
    @Option(
        help: .hidden("Program that prints a fresh URL or header fields when the server refuses a request.", "command"))
    var renewCommand: String?

    @Option(
        help: .hidden(
            "Program that prints a user name and a password, like git's credential helpers, or header fields for a server.",
            "command"))
    var authCommand: String?

    @Option(help: .value("cmd", "Program for each file (path: RESUMECTL_PATH)."))
    var onComplete: String?

    @Flag(name: .flag("shell renew-shell"), help: .hidden("Run these programs with /bin/sh."))
    var usesShell = false

    func validate() throws {
        let programs = [("renew-command", renewCommand), ("auth-command", authCommand), ("on-complete", onComplete)]
        for (name, text) in programs {
            try refuse(text?.allSatisfy(\.isWhitespace) == true, "--\(name) requires a program")
        }
    }

    /// What a job asks for again when it is continued, so that no file is done without its program.
    var needs: [String] { onComplete == nil ? [] : [Programs.completionOption] }

    /// Returns the words of a command: the program and its arguments, separated by spaces, or a shell's.
    func words(_ text: String?) -> [String]? {
        guard let text else { return nil }
        return usesShell ? ["/bin/sh", "-c", text] : text.split(separator: " ").map(String.init)
    }
}
