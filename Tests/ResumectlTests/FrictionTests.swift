import OriginServer
import TestSupport
import Testing

/// What stopped users who knew other programs, and what a terminal shows instead (`docs/frictions.md`).
@Suite(.timeLimit(.minutes(20)), .serialized, .enabled(if: Shell.has("tmux"), "needs tmux"))
struct FrictionTests {
    private static let content = Content(length: 300_000, seed: 7)
    private static let isMounting = Shell.isRoot && Shell.has("unshare")

    /// A terminal with a shell in the test's folder, and a server.
    private struct Screen {
        let terminal: Terminal
        let server: OriginServer
        let folder: TemporaryFolder

        /// A URL without its scheme.
        var host: String { "127.0.0.1:\(server.port)" }

        /// Runs a command and returns what the terminal shows of it, of which the last row is its exit status.
        func run(_ command: String, at location: SourceLocation = #_sourceLocation) async throws -> [String] {
            try await terminal.type("clear; \(command); echo \"end $?\"", "Enter")
            var shown: [String] = []
            try await terminal.expect(command, at: location) { rows in
                shown = rows.dropLast()
                return rows.last == "$" && rows.dropLast().last?.wholeMatch(of: /end \d+/) != nil
            }
            return shown
        }

        /// Runs a command and expects these rows of it, among others, as their beginnings.
        func expect(
            _ command: String, _ rows: String..., at location: SourceLocation = #_sourceLocation
        ) async throws {
            let shown = try await run(command, at: location)
            for row in rows {
                let isShown = shown.contains { $0.hasPrefix(row) }
                let screen = shown.joined(separator: "\n")
                #expect(isShown, "\(row)\nis not on the screen:\n\(screen)", sourceLocation: location)
            }
        }
    }

    /// Serves the content, but cuts responses with the whole file if its path contains "cut".
    @Sendable private static func answer(_ request: OriginRequest) -> Response {
        if request.target.contains("sig=old") { return .status("403 Forbidden") }
        let isCut = request.path.contains("cut") && request.field("range") == nil
        let content = request.path == "/big" ? Content(length: 20_000_000, seed: 1) : content
        return .file(Resource(content, etag: "\"v1\""), for: request, cutAfter: isCut ? 200_000 : nil)
    }

    /// The text of rows without spaces: a space at the end of a row, where a line is wrapped, is not seen.
    private static func dense(_ rows: [String]) -> String { rows.joined().filter { $0 != " " } }

    private static func shows(_ rows: [String], _ text: String) -> Bool {
        dense(rows).contains(text.filter { $0 != " " })
    }

    private func withScreen(width: Int = 160, _ body: (Screen) async throws -> Void) async throws {
        try await OriginServer.withServer(handler: Self.answer) { server async throws in
            try await TemporaryFolder.with { folder async throws in
                try await Terminal.with("/bin/sh", in: folder, width: width, height: 50) { terminal async throws in
                    let path = Resumectl.path.dropLast("/resumectl".count)
                    try await terminal.type("cd \(folder.path); PATH=\"\(path):$PATH\"; PS1='$ '", "Enter")
                    try await body(Screen(terminal: terminal, server: server, folder: folder))
                }
            }
        }
    }

    @Test("1: a list that is run again fetches only what is missing")
    func lists() async throws {
        try await withScreen { screen async throws in
            let list = ["a.bin", "b.bin", "cut.bin"].map { "\(screen.host)/\($0)\n" }.joined()
            try Files.write(Array(list.utf8), to: screen.folder["list"])
            try await screen.expect(
                "resumectl get --retries 0 -i list -P files", "files/a.bin: done, 293.0 KiB", "2 of 3 files, ",
                "resumectl: 1 of 3 downloads did not complete", "end 75")
            #expect(screen.server.requests.count == 3)
            try await screen.expect(
                "resumectl get -i list -P files", "files/a.bin: done before, skipped",
                "files/b.bin: done before, skipped", "files/cut.bin: resumed at 195.3 KiB of 293.0 KiB",
                "files/cut.bin: done, 293.0 KiB, 195.3 KiB of it reused", "end 0")
            #expect(screen.server.requests.count == 4)
        }
    }

    @Test("2: a wrong digest costs only the rest of the file, which is kept")
    func digest() async throws {
        try await withScreen { screen async throws in
            _ = try await screen.run("resumectl get --retries 0 \(screen.host)/cut.bin")
            let zeros = String(repeating: "0", count: 64)
            let shown = try await screen.run("resumectl get --sha256 \(zeros) \(screen.host)/cut.bin")
            #expect(shown.contains("cut.bin: resumed at 195.3 KiB of 293.0 KiB"))
            let message = "the file does not have the expected SHA-256: expected \(zeros), received d25f57bc59698f70"
            #expect(Self.shows(shown, message), "\(shown)")
            #expect(Self.shows(shown, "nothing was written, and the received file is kept in the store. Compare"))
            #expect(shown.last == "end 1" && screen.server.requests.count == 2)
            try await screen.expect("resumectl list", "partial  293.0 KiB of 293.0 KiB (100%)", "1 entry, 293.0 KiB")
        }
    }

    @Test("5: sizes and times as people write them, and as the program prints them")
    func sizes() async throws {
        try await withScreen { screen async throws in
            _ = try await screen.run("resumectl get --stall-timeout 30s --retries 0 \(screen.host)/cut.bin")
            let shown = try await screen.run(
                "for s in 1.5GiB 5M 1.5G 500k '1.5 MiB'; do resumectl gc --max-size \"$s\"; done; "
                    + "for t in 1w 1d12h 7days 15m3s '15m3s ago'; do resumectl purge --older-than \"$t\"; done")
            #expect(shown.count { $0 == "freed 0 B" } == 10, "\(shown)")
            #expect(shown.count { $0 == "no entry matches" } == 5, "\(shown)")
            #expect(shown.count == 21 && shown.last == "end 0")
        }
    }

    @Test("8: a refusal of an old URL says how to continue from a new one")
    func renewal() async throws {
        try await withScreen { screen async throws in
            _ = try await screen.run("resumectl get --retries 0 -o f.bin '\(screen.host)/cut.bin?arg=1&sig=new'")
            let refused = try await screen.run("resumectl get -o f.bin '\(screen.host)/cut.bin?arg=1&sig=old'")
            #expect(Self.shows(refused, "run 'resumectl resume f.bin --url' with the new one"), "\(refused)")
            try await screen.expect(
                "resumectl resume f.bin --url '\(screen.host)/cut.bin?arg=3&sig=new'",
                "\(screen.folder["f.bin"]): resumed at 195.3 KiB of 293.0 KiB", "end 0")
        }
    }

    @Test("9: a partial file of another program is named before it is replaced, and continued")
    func partials() async throws {
        try await withScreen { screen async throws in
            let left = Self.content.bytes(in: 0..<200_000)
            try Files.write(left, to: screen.folder["cut.bin"])
            let shown = try await screen.run("resumectl get --retries 0 \(screen.host)/cut.bin")
            let hint =
                "cut.bin: replaces a file of 195.3 KiB when it is complete. If curl or wget has left that, press Ctrl-C "
                + "and run 'resumectl get --restart --from cut.bin -o cut.bin' with the URL."
            #expect(Self.shows(shown, hint), "\(shown)")
            #expect(try Files.bytes(screen.folder["cut.bin"]) == left)
            try await screen.expect(
                "resumectl get --restart --from cut.bin -o cut.bin \(screen.host)/cut.bin",
                "cut.bin: resumed at 131.3 KiB of 293.0 KiB", "end 0")
            try Files.write(left, to: screen.folder["a.bin"])
            try Files.write([], to: screen.folder["a.bin.aria2"])
            try await screen.expect(
                "resumectl get \(screen.host)/a.bin",
                "a.bin was left by aria2; to continue it, run 'resumectl get --from a.bin' and the URL")
        }
    }

    @Test("10: an error about a certificate gives the reason", .enabled(if: Nginx.isInstalled, "needs nginx"))
    func certificate() async throws {
        try await withScreen { screen async throws in
            let nginx = try await Nginx(serving: screen.folder.path, secure: true)
            let shown = try await screen.run("resumectl get --retries 0 \(nginx.secureURL("f.bin"))")
            await nginx.stop()
            let reason = "the certificate of 127.0.0.1:\(nginx.securePort) is not trusted: it is self-signed"
            #expect(Self.shows(shown, reason) && shown.last == "end 1", "\(shown)")
        }
    }

    @Test("11, 12: a full disk and a folder without permission are named", .enabled(if: isMounting, "needs root"))
    func disks() async throws {
        try await withScreen(width: 200) { screen async throws in
            let disk = screen.folder["disk"]
            let mount = "mkdir -p disk; unshare --mount sh -c 'mount -t tmpfs -o"
            let full = try await screen.run("\(mount) size=128k t disk; resumectl get \(screen.host)/big -P disk'")
            let message = "the file has 20000000 bytes, but only 131072 bytes are free in the folder \(disk). Free some"
            #expect(Self.shows(full, message) && full.last == "end 74", "\(full)")
            #expect(screen.server.requests.count == 1)
            let locked = try await screen.run("\(mount) ro t disk; resumectl get \(screen.host)/f -P disk'")
            let refusal = "cannot write \(disk)/f: open failed for \(disk): Read-only file system. Choose a location"
            #expect(Self.shows(locked, refusal), "\(locked)")
            let store = try await screen.run("\(mount) ro t disk; resumectl get --store disk/s \(screen.host)/f'")
            #expect(Self.shows(store, "mkdir failed for disk/s: Read-only file system. Check that"), "\(store)")
            #expect(locked.last == "end 73" && store.last == "end 74")
        }
    }

    @Test("13: pin says what it did, purge keeps what is pinned, and --all asks")
    func pins() async throws {
        try await withScreen { screen async throws in
            _ = try await screen.run("resumectl get --retries 0 \(screen.host)/cut.bin")
            let url = "http://\(screen.host)/cut.bin"
            try await screen.expect("resumectl pin cut.bin", "pinned: \(url)", "end 0")
            try await screen.expect("resumectl purge cut.bin", "pinned, kept: \(url)", "freed 0 B", "end 1")
            try await screen.expect("resumectl unpin cut.bin", "unpinned: \(url)", "end 0")
            try await screen.terminal.type("clear; resumectl purge --all; echo \"end $?\"", "Enter")
            try await screen.terminal.expect("the question") { rows in
                rows.contains { $0.hasPrefix("Remove 1 entry with 195.3 KiB? [y/N]") }
            }
            try await screen.terminal.type("n", "Enter")
            try await screen.terminal.expect("the answer") { $0.contains { $0.hasPrefix("end ") } }
            try await screen.expect("resumectl list", "1 entry, 195.3 KiB of 293.0 KiB (66%)")
        }
    }

    @Test("14: list is a table with totals, show finds a file by its name, log is limited")
    func inspection() async throws {
        try await withScreen(width: 80) { screen async throws in
            try await screen.expect("resumectl list", "the store is empty: there are no partial downloads", "end 0")
            let long = "a-long-name-of-a-folder/another-one-that-is-long-too/cut.bin"
            _ = try await screen.run("resumectl get --retries 0 \(screen.host)/\(long)")
            let list = try await screen.run("resumectl list")
            #expect(list.count == 4 && list[0].hasPrefix("STATE    RECEIVED ") && list[0].hasSuffix("  URL"), "\(list)")
            #expect(list[1].hasPrefix("partial  195.3 KiB of 293.0 KiB (66%)") && list[1].contains("…"), "\(list)")
            #expect(list[1].hasSuffix("/cut.bin") && list[2] == "1 entry, 195.3 KiB of 293.0 KiB (66%)", "\(list)")
            try await screen.expect(
                "resumectl show cut.bin", "received:        195.3 KiB (200000 bytes), ",
                "destination:     \(screen.folder["cut.bin"])".prefix(80).description, "map:             [####")
            let log = try await screen.run("resumectl log -n 1")
            #expect(Self.shows(log, "the newest 1 of 2 events; -n 0 prints all of them"), "\(log)")
        }
    }

    @Test("15: URLs as people type them, folders that do not exist, equal names, and the path for a script")
    func typing() async throws {
        try await withScreen { screen async throws in
            try await screen.expect("resumectl get \(screen.host)/one.bin", "one.bin: done, 293.0 KiB", "end 0")
            try await screen.expect(
                "resumectl get '\(screen.host)/two words.bin' -P new/er", "new/er/two words.bin: done", "end 0")
            try await screen.expect("resumectl get \(screen.host)/x -P new -o y", "new/y: done", "end 0")
            try await screen.expect(
                "resumectl get \(screen.host)/a/n \(screen.host)/b/n \(screen.host)/m",
                "resumectl: http://\(screen.host)/b/n: argument 2: would be written to n, as would the URL of ",
                "n: done", "m: done", "resumectl: 1 of 3 downloads did not complete", "end 73")
            try await screen.expect(
                "F=$(resumectl get -q --no-progress \(screen.host)/q; resumectl get \(screen.host)/p); echo \"<$F>\"",
                "<\(screen.folder["p"])>", "end 0")
        }
    }
}
