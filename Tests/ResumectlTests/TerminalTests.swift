import OriginServer
import TestSupport
import Testing

/// `get` in a real terminal: tmux, of which the test reads the screen.
@Suite(.timeLimit(.minutes(20)), .serialized, .enabled(if: Shell.has("tmux"), "needs tmux"))
struct TerminalTests {
    private static let content = Content(length: 300_000, seed: 7)
    private static let numbers = (1...16).map { $0 < 10 ? "0\($0)" : "\($0)" }

    /// Runs a test in a terminal in which sixteen downloads have received half of their bytes and wait for the rest.
    ///
    /// - Parameters:
    ///   - gates: One for all files, or one for each.
    ///   - environment: Variables of the program.
    ///   - width: The width of the terminal.
    ///   - height: Its height.
    ///   - body: What the test does.
    /// - Throws: The error of the test.
    private func withDownloads(
        _ gates: [Gate], environment: String = "", width: Int = 80, height: Int = 24,
        _ body: (_ terminal: Terminal, _ origin: String) async throws -> Void
    ) async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            let head = Step.head(status: "200 OK", fields: [("Content-Length", "300000"), ("ETag", "\"v1\"")])
            let index = Self.numbers.firstIndex { request.path.hasSuffix("-\($0).bin") } ?? 0
            return Response([
                head, .body(Self.content, 0..<150_000), .gate(gates[index % gates.count]),
                .body(Self.content, 150_000..<300_000),
            ])
        }
        try await OriginServer.withServer(handler: handler) { server async throws in
            try await TemporaryFolder.with { folder async throws in
                try await Terminal.with("/bin/sh", in: folder, width: width, height: height) { terminal async throws in
                    let urls = "\(server.baseURL)/映画-"
                    let list = Self.numbers.map { "\(urls)\($0).bin\n" }.joined()
                    try Files.write(Array(list.utf8), to: folder["list"])
                    let get = "\(environment) \(Resumectl.path) get --stall-timeout 1h -j 16 -i list -P files"
                    try await terminal.type("cd \(folder.path); PS1='$ '; clear; \(get)", "Enter")
                    try await body(terminal, server.baseURL)
                }
            }
        }
    }

    /// The rows of the downloads at a width.
    private static func rows(_ width: Int) -> [String] {
        let files = numbers.map { number in
            let name = "映画-\(number).bin"
            return switch width {
            case 20: "映画…\(number.suffix(1)).bin  no data"
            case 50: "\(name)          50%, no data"
            case 80: "\(name)                50%, no data"
            default: "\(name)" + String(repeating: " ", count: 31) + "50%, no data"
            }
        }
        let total = "0 of 16 files  50%"
        return files + [width == 20 ? total : "\(total)  2.3 MiB of 4.6 MiB  0 B/s"]
    }

    /// Rows without the times for which nothing has been received.
    private static func still(_ rows: [String]) -> [String] {
        rows.map { $0.replacing(/no data for .*/, with: "no data") }
    }

    @Test("Sixteen downloads in terminals of several widths, and as files are finished")
    func widths() async throws {
        let gate = Gate()
        try await withDownloads([gate]) { terminal, _ async throws in
            for width in [80, 50, 20, 200, 20, 80] {
                try await terminal.resize(width, 24)
                let expected = Self.rows(width)
                try await terminal.expect("\(width) columns") { Self.still($0) == expected }
            }
            // The rest is summed up.
            try await terminal.resize(80, 10)
            try await terminal.expect("ten rows") { rows in
                rows.count == 9 && rows[7] == "and 9 more  1.3 MiB  0 B/s" && rows[8].hasPrefix("0 of 16 files  50%")
            }
            try await terminal.resize(200, 24)
            // tmux tells the program a moment later. Older rows above may be as wide.
            let wide = Self.rows(200).suffix(2)
            try await terminal.expect("wide rows") { Self.still($0).suffix(2) == wide }
            gate.open()
            // Rows that the lower terminal has scrolled away are shown again, and cannot be removed.
            try await terminal.expect("the end") { rows in
                let rows = Array(rows.suffix(18))
                return rows.count == 18 && rows.prefix(16).allSatisfy { $0.hasSuffix(".bin: done, 293.0 KiB") }
                    && rows[16].hasPrefix("16 of 16 files, 4.6 MiB received in ") && rows[17] == "$"
            }
        }
    }

    @Test("Files are finished while the terminal becomes wider sixteen times, and narrower", arguments: [true, false])
    func resizedWhileScrolling(widens: Bool) async throws {
        let gates = Self.numbers.map { _ in Gate() }
        // So high that nothing scrolls away, which would move the cursor.
        let width = widens ? 20 : 200
        try await withDownloads(gates, width: width, height: 250) { terminal, _ async throws in
            let progress = Self.rows(width)
            try await terminal.expect("all downloads") { Self.still($0) == progress }
            for (index, gate) in gates.enumerated() {
                // The program hears of it later.
                try await terminal.resize(widens ? 30 + 10 * index : 190 - 10 * index, 250)
                gate.open()
                try await terminal.expect("\(index + 1) files") { rows in
                    rows.contains { $0.hasPrefix("\(index + 1) of 16 files") } || rows.last == "$"
                }
            }
            try await terminal.expect("the end") { rows in
                rows.last == "$" && rows.suffix(4).contains { $0.hasPrefix("16 of 16 files, 4.6 MiB received in") }
            }
            // Whatever was drawn in between, each line that stays is there, once and whole. Spaces at the ends of rows
            // are not seen.
            let all = try await terminal.tmux("capture-pane", "-p", "-S", "-").filter { !$0.isWhitespace }
            for number in Self.numbers {
                #expect(all.ranges(of: "files/映画-\(number).bin:done,293.0KiB").count == 1, "\(number)\n\(all)")
            }
            #expect(all.ranges(of: "16of16files,").count == 1, "\(all)")
        }
    }

    @Test("Without progress where the terminal cannot show it, and never in colour", arguments: ["dumb", "xterm"])
    func plain(term: String) async throws {
        let gate = Gate()
        try await withDownloads([gate], environment: "TERM=\(term) NO_COLOR=1") { terminal, _ async throws in
            let progress = Self.rows(80)
            if term != "dumb" { try await terminal.expect("all downloads") { Self.still($0) == progress } }
            gate.open()
            // Without progress, there is no summary either.
            let count = term == "dumb" ? 17 : 18
            try await terminal.expect("the end") { $0.count == count && $0.last == "$" }
            // With the codes of colours.
            let rows = try await terminal.tmux("capture-pane", "-p", "-e").split(separator: "\n")
            #expect(rows.count { $0.contains(".bin: done, 293.0 KiB") } == 16, "\(rows)")
            #expect(rows.count == count && !rows.contains { $0.contains("\u{1B}") }, "\(rows)")
        }
    }

    /// What a new user types, and what the terminal must show of it.
    private static let typed: [(command: String, shown: String)] = [
        ("gett", "Error: unknown command 'gett'; did you mean 'get'?"),
        ("get --foo x -o y h/f", "Error: unknown option '--foo'"),
        ("get --outptu x h/f", "Error: unknown option '--outptu'; did you mean '--output'?"),
        ("get -x 4 h/f", "for several connections (aria2, axel), use --connections 4"),
        ("get 127.0.0.1:9", "resumectl: argument 1: http://127.0.0.1:9/ does not contain a file name."),
        ("gc --max-size 1.5GiB", "there is no store yet"), ("purge", "specify what to remove: entries, --all"),
        ("resume", "nothing to resume"),
        ("list", "the store is empty: there are no partial downloads"), ("log", "no events are recorded"),
        ("show x", "there is no store"), ("help exit-status", "130  Interrupted (Ctrl-C)."),
        ("get -k --cacert f h/f", "--insecure (-k) and --cacert cannot be combined"),
        ("get --limit-rate 8-18=1M h/f", "such as 08:00-18:00=1M"),
    ]

    @Test("What a new user types is answered on the screen")
    func firstSteps() async throws {
        try await TemporaryFolder.with { folder async throws in
            try await Terminal.with("/bin/sh", in: folder, width: 80, height: 24) { terminal async throws in
                for (command, shown) in Self.typed {
                    try await terminal.type("PS1='$ '; clear; \(Resumectl.path) \(command); echo end", "Enter")
                    // Long lines are wrapped, and a space at the end of a row is not seen.
                    try await terminal.expect(command) { rows in
                        rows.suffix(2) == ["end", "$"]
                            && rows.joined().filter { $0 != " " }.contains(shown.filter { $0 != " " })
                    }
                }
            }
        }
    }

    @Test("Ctrl-C at a question ends the command, and nothing is removed")
    func interruptedQuestion() async throws {
        try await withDownloads([Gate()]) { terminal, _ async throws in
            try await terminal.expect("a download") { $0.joined().contains("146.5 KiB") }
            _ = try await terminal.tmux("send-keys", "C-c")
            try await terminal.expect("the prompt") { $0.last?.hasSuffix("$") == true }
            try await terminal.type("clear; \(Resumectl.path) purge --all; echo status $?", "Enter")
            try await terminal.expect("the question") { $0.last?.contains("[y/N]") == true }
            _ = try await terminal.tmux("send-keys", "C-c")
            try await terminal.expect("the status") { $0.joined().contains("status 130") }
            #expect(try await terminal.rows().joined().contains("nothing was removed"))
        }
    }

    @Test("After one Ctrl-C or two, messages and a prompt on rows of their own remain", arguments: [1, 2])
    func interruption(count: Int) async throws {
        try await withDownloads([Gate()]) { terminal, origin async throws in
            try await Self.interrupt(terminal, count, origin)
        }
    }

    private static func interrupt(_ terminal: Terminal, _ count: Int, _ origin: String) async throws {
        try await terminal.resize(200, 50)
        let progress = rows(200)
        try await terminal.expect("all downloads") { Self.still($0) == progress }
        for _ in 0..<count { _ = try await terminal.tmux("send-keys", "C-c") }
        try await terminal.expect("the prompt") { $0.last?.hasSuffix("$") == true }
        let rows = try await terminal.rows()
        let message = "interrupted; the partial data is kept. Run the command again to resume."
        for row in rows.dropLast() {
            let isMessage = row.hasPrefix("resumectl: \(origin)/") && row.hasSuffix(message)
            let isSummary =
                row.hasPrefix("0 of 16 files, 2.3 MiB received in ") || row.hasSuffix("downloads did not complete")
            // The terminal shows the keys. A second signal may end the process before it has removed the progress.
            let isProgress = count == 2 && progress.contains(still([row])[0])
            let isRest = row.hasPrefix("^C") || row.hasPrefix("$ ^C") || isProgress
            #expect(isMessage || isSummary || isRest, "\(row)")
        }
        guard count == 1 else { return }
        #expect(rows.count { $0.hasSuffix(message) } == 16, "\(rows)")
        #expect(rows.dropLast().last == "resumectl: 16 of 16 downloads did not complete")
    }
}
