import OriginServer
import TestSupport
import Testing

/// Completions in the shells themselves, in a terminal.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ShellCompletionTests {
    /// A shell, and how it is started and told to use the completions.
    enum Shell: String, CaseIterable, CustomTestStringConvertible {
        case bash, zsh, fish

        var testDescription: String { rawValue }

        /// Without the settings of the user and the system.
        var command: String {
            switch self {
            case .bash: "bash --norc --noprofile"
            case .zsh: "zsh -f"
            case .fish: "fish --no-config"
            }
        }

        /// The prompt is a dollar sign, and nothing is suggested while the user types.
        var setup: String {
            switch self {
            case .bash: "PS1='$ '; source <(resumectl completions bash)"
            case .zsh: "PS1='$ '; autoload -Uz compinit; compinit -u -D; source <(resumectl completions zsh)"
            case .fish:
                "function fish_prompt; echo '$ '; end; set -g fish_autosuggestion_enabled 0; resumectl completions fish | source"
            }
        }
    }

    /// Runs a test in a shell, in a folder with some files, with two partial downloads in the store.
    private func withShell(
        _ shell: Shell, _ body: (_ terminal: Terminal, _ urls: [String], _ folder: TemporaryFolder) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder async throws in
            let content = Content(length: 300_000, seed: 7)
            let handler: @Sendable (OriginRequest) -> Response = {
                .file(Resource(content, etag: "\"v1\""), for: $0, cutAfter: 200_000)
            }
            var urls: [String] = []
            try await OriginServer.withServer(handler: handler) { server async throws in
                for name in ["first&1.iso", "second.iso"] {
                    urls.append("\(server.baseURL)/\(name)")
                    let path = folder["files/\(name)"]
                    let got = try await Resumectl(folder: folder).run(
                        "get", "--retries", "0", "-P", folder["files"], "-o", name, "\(server.baseURL)/\(name)")
                    #expect(got.status == 75, "\(path): \(got.errors)")
                }
            }
            _ = try await Resumectl(folder: folder).run("pin", urls[1])
            for name in ["image-of-disk", "folded"] { try Files.write([], to: folder["files/\(name)"]) }
            try await TestSupport.Shell.run("mkdir", folder["files/folder"])
            try await Terminal.with(shell.command, in: folder, width: 200, height: 50) { terminal async throws in
                let path = Resumectl.path.dropLast("/resumectl".count)
                try await terminal.type(
                    "cd \(folder["files"]); export HOME=\(folder.path) PATH=\"\(path):$PATH\"; \(shell.setup)", "Enter")
                try await terminal.type("clear", "Enter")
                try await terminal.expect("a prompt") { $0 == ["$"] }
                try await body(terminal, urls, folder)
            }
        }
    }

    /// Types the beginning of a command line, and expects what the shell makes of it.
    private func expect(
        _ terminal: Terminal, _ typed: String, becomes expected: String, at location: SourceLocation = #_sourceLocation
    ) async throws {
        try await terminal.type(typed, "Tab")
        try await terminal.expect("\(typed), completed", at: location) { $0.last == "$ \(expected)" }
        try await terminal.type("", "C-u")
        try await terminal.expect("an empty line", at: location) { $0.last == "$" }
    }

    @Test("Commands, options, files, folders, states, keys and destinations", arguments: Shell.allCases)
    func words(shell: Shell) async throws {
        try await withShell(shell) { terminal, urls, folder async throws in
            try await expect(terminal, "resumectl sta", becomes: "resumectl stats")
            try await expect(terminal, "resumectl ls --rev", becomes: "resumectl ls --reverse")
            try await expect(terminal, "resumectl list --state par", becomes: "resumectl list --state partial")
            try await expect(terminal, "resumectl list --state=c", becomes: "resumectl list --state=complete")
            try await expect(terminal, "resumectl get -o image-o", becomes: "resumectl get -o image-of-disk")
            try await expect(terminal, "resumectl get --output=ima", becomes: "resumectl get --output=image-of-disk")
            // And not the file that begins alike.
            try await expect(terminal, "resumectl get -P fol", becomes: "resumectl get -P folder/")
            let quoted = urls[0].replacing("&", with: "\\&")
            try await expect(terminal, "resumectl pin h", becomes: "resumectl pin \(quoted)")
            try await expect(terminal, "resumectl unpin h", becomes: "resumectl unpin \(urls[1])")
            let start = urls[1].dropLast("cond.iso".count)
            try await expect(terminal, "resumectl show \(start)", becomes: "resumectl show \(urls[1])")
            try await expect(terminal, "resumectl show \"\(start)", becomes: "resumectl show \"\(urls[1])\"")
            try await expect(terminal, "resumectl resume sec", becomes: "resumectl resume second.iso")
            let path = folder["files/second.iso"]
            try await expect(terminal, "resumectl purge \(path.dropLast(5))", becomes: "resumectl purge \(path)")
        }
    }

    @Test("Several candidates are listed, without hidden options", arguments: Shell.allCases)
    func lists(shell: Shell) async throws {
        try await withShell(shell) { terminal, _, _ async throws in
            try await terminal.type("resumectl get --c", "Tab", "Tab")
            try await terminal.expect("options") { rows in
                let words = rows.dropFirst().joined(separator: " ")
                return words.contains("--connections") && words.contains("--checksums")
            }
            let rows = try await terminal.rows()
            #expect(rows.allSatisfy { !$0.contains("--connect-timeout") && !$0.contains("--condition") })
        }
        try await withShell(shell) { terminal, urls, _ async throws in
            try await terminal.type("resumectl show \(urls[1].dropLast("second.iso".count))", "Tab", "Tab")
            try await terminal.expect("keys") { rows in
                rows.dropFirst().contains { $0.contains("first") }
                    && rows.dropFirst().contains { $0.contains("second") }
            }
        }
    }
}
