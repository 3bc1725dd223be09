import ArgumentParser

/// The programs that downloads start.
struct ProgramOptions: ParsableArguments {
    @Option("renew-command") var renewCommand: String?
    @Option("auth-command") var authCommand: String?
    @Option("on-complete") var onComplete: String?
    @Flag("shell renew-shell") var usesShell = false

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

    /// Returns the words of --on-complete for a file; nil if there is none.
    ///
    /// The path is an argument or a part of one, and never a program or a part of a shell's text.
    func completion(of path: String) -> [String]? {
        guard let onComplete, var words = words(onComplete) else { return nil }
        if usesShell {
            // $0 and $1.
            words += ["sh", path]
        } else if onComplete.contains("{}") {
            for index in words.indices.dropFirst() {
                words[index] = words[index].replacing("{}", with: path)
            }
        } else if !onComplete.contains("RESUMECTL_PATH") {
            words.append(path)
        }
        return words
    }
}
