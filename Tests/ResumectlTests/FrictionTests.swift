import Foundation
import OriginServer
import TestSupport
import Testing

/// What stopped users who knew other programs, and what a terminal shows instead: the recordings of `docs/frictions.md`.
///
/// With `RECORD=Now`, the tests write the page instead of comparing. With `RECORD=Before`, `PROGRAM=FOLDER` and
/// `NUMBERS="1 2"`, they record some of them with an older program in a folder.
@Suite(
    .timeLimit(.minutes(20)), .serialized, .enabled(if: Shell.has("tmux") && Shell.has("bash"), "needs tmux and bash"))
struct FrictionTests {
    private static let content = Content(length: 300_000, seed: 7)
    private static let canMount = Shell.isRoot && Shell.has("unshare")
    private static let environment = ProcessInfo.processInfo.environment
    private static let recorded = environment["RECORD"].map { text in
        guard let kind = Recording.Kind(rawValue: text) else { fatalError("RECORD is Before or Now") }
        return kind
    }
    private static let numbers = environment["NUMBERS"]?.split(separator: " ").compactMap { Int($0) } ?? Array(1...15)
    /// The folder of the program.
    private static var program: String { environment["PROGRAM"] ?? String(Resumectl.path.dropLast("/resumectl".count)) }

    /// A terminal with a shell in the test's folder, and a server, of which the page has other names.
    private struct Screen {
        let terminal: Terminal
        let gate: Gate
        /// What stands on the page, and what it stands for.
        let names: [(page: String, real: String)]

        /// The text of a command or a screen with the real names.
        func real(_ text: String) -> String { names.reduce(text) { $0.replacing($1.page, with: $1.real) } }

        /// Rows with the names of the page.
        private func page(_ rows: [String]) -> [String] {
            rows.map { row in names.reduce(row) { $0.replacing($1.real, with: $1.page) } }
        }

        /// Performs a step.
        ///
        /// - Parameters:
        ///   - step: The step.
        ///   - continues: Whether the next step happens while its command runs.
        ///   - comparing: Whether to wait for the screen of the page.
        /// - Returns: What the terminal shows then; nothing while a command runs.
        /// - Throws: `Shell.Failure` of tmux.
        func perform(_ step: Recording.Step, continues: Bool, comparing: Bool) async throws -> [String] {
            if step.isCommand {
                // What follows a word that is being completed is not typed.
                let isTyped = step.text.hasSuffix("_")
                try await terminal.type("", "C-u")
                try await terminal.type("clear", "Enter")
                try await terminal.expect("an empty screen") { $0 == ["$"] }
                let command = real(step.text)
                if isTyped {
                    try await terminal.type(String(command.dropLast()))
                } else {
                    try await terminal.type("clear; \(command); ended $?", "Enter")
                }
            } else {
                try await react(step.text)
            }
            if step.isCommand, continues { return [] }
            var rows: [String] = []
            if step.isCommand {
                try await terminal.expect("the end of \(step.text)") {
                    rows = page($0)
                    return rows.last == "$" && rows.dropLast().last?.wholeMatch(of: /\(status \d+\)/) != nil
                }
            } else if comparing {
                let expected = Recording.words(step.screen)
                try await terminal.expect("\(step.text)\n\(step.screen.joined(separator: "\n"))\n") {
                    rows = page($0)
                    return Recording.words(Self.output(rows)) == expected
                }
            } else {
                // Until the rates are those of downloads that wait.
                try await Task.sleep(for: .seconds(12))
                rows = page(try await terminal.rows())
            }
            return Self.output(rows)
        }

        /// Rows without prompts and without a status of success.
        private static func output(_ rows: [String]) -> [String] {
            var rows = rows.map { $0.hasPrefix("$ ") ? String($0.dropFirst(2)) : $0 }
            guard rows.last == "$" else { return rows }
            rows.removeLast()
            if rows.last == "(status 0)" { rows.removeLast() }
            return rows
        }

        /// What happens while a command runs.
        private func react(_ text: String) async throws {
            switch text {
            case "half of each file has arrived", "the question is asked": break
            case "the rest arrives": gate.open()
            default:
                if let width = text.wholeMatch(of: /(\d+) columns/).flatMap({ Int($0.1) }) {
                    return try await terminal.resize(width, 40)
                }
                let keys = text.split(separator: " ").map { $0 == "Ctrl-C" ? "C-c" : String($0) }
                for key in keys { _ = try await terminal.tmux("send-keys", key) }
            }
        }
    }

    /// Serves the content, but cuts responses with the whole file if its path contains "cut", and holds back the second
    /// half if it contains "held".
    private static func answer(_ request: OriginRequest, _ gate: Gate) -> Response {
        if request.target.contains("sig=old") { return .status("403 Forbidden") }
        if request.path.contains("held") {
            let head = Step.head(status: "200 OK", fields: [("Content-Length", "300000"), ("ETag", "\"v1\"")])
            return Response([head, .body(content, 0..<150_000), .gate(gate), .body(content, 150_000..<300_000)])
        }
        let isCut = request.path.contains("cut") && request.field("range") == nil
        let content = request.path == "/big" ? Content(length: 20_000_000, seed: 1) : content
        return .file(Resource(content, etag: "\"v1\""), for: request, cutAfter: isCut ? 200_000 : nil)
    }

    /// Makes a folder whose path is as long as `/home/you`, so that lines are as long as on the page.
    private static func home() throws -> String {
        while true {
            let path = "/tmp/r" + String((0..<3).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement() ?? "a" })
            do {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                return path
            } catch CocoaError.fileWriteFileExists {
                continue
            }
        }
    }

    /// The files that a recording begins with.
    private static func prepare(_ number: Int, in folder: String, origin: String) throws {
        try FileManager.default.createDirectory(atPath: "\(folder)/folder", withIntermediateDirectories: true)
        let names =
            switch number {
            case 1: ["a.bin", "b.bin", "cut.bin"]
            case 3, 4: (1...5).map { "held-\($0).bin" }
            default: [String]()
            }
        if !names.isEmpty {
            try Files.write(Array(names.map { "http://\(origin)/\($0)\n" }.joined().utf8), to: "\(folder)/list")
        }
        if number == 6 { try Files.write([], to: "\(folder)/folder/urls.txt") }
        if number == 9 {
            try Files.write(content.bytes(in: 0..<200_000), to: "\(folder)/cut.bin")
            try Files.write(content.bytes(in: 0..<200_000), to: "\(folder)/a.bin")
            try Files.write([], to: "\(folder)/a.bin.aria2")
        }
    }

    /// The shell's functions: the end of a command, and commands that see another file system in the folder `disk`.
    private static let setup = """
        PS1='$ '; ended() { echo "(status $1)"; }; \
        on() { mkdir -p disk; unshare -m sh -c 'mount -t tmpfs -o "$1" t disk; shift; exec "$@"' sh "$@"; }; \
        on-small-disk() { on size=128k "$@"; }; on-read-only-disk() { on ro "$@"; }
        """

    /// How many requests a recording makes in all, where that is the point.
    private static let requests = [1: 6, 2: 2, 8: 7, 11: 1]

    @Test("What users see is what the page says", arguments: numbers.filter { ![10, 11, 12].contains($0) })
    func page(number: Int) async throws { try await Self.compare(number) }

    @Test("The same of a certificate", .enabled(if: numbers.contains(10) && Nginx.isInstalled, "needs nginx"))
    func certificate() async throws { try await Self.compare(10) }

    @Test(
        "The same of other file systems", .enabled(if: canMount, "needs root and unshare"),
        arguments: numbers.filter { [11, 12].contains($0) })
    func fileSystems(number: Int) async throws { try await Self.compare(number) }

    private static func compare(_ number: Int) async throws {
        let kind = Self.recorded ?? .now
        guard var recording = try Recording.all().first(where: { $0.number == number && $0.kind == kind }) else {
            Issue.record("docs/frictions.md has no \(number)")
            return
        }
        let gate = Gate()
        try await OriginServer.withServer(handler: { Self.answer($0, gate) }) { server async throws in
            try await TemporaryFolder.with { folder async throws in
                let place = try Self.home()
                defer { try? FileManager.default.removeItem(atPath: place) }
                try Self.prepare(number, in: place, origin: "127.0.0.1:\(server.port)")
                let nginx = number == 10 ? try await Nginx(serving: folder.path, secure: true) : nil
                let shell = "bash --norc --noprofile"
                try await Terminal.with(shell, in: folder, width: 100, height: 40) { terminal async throws in
                    try await terminal.type("cd \(place); PATH=\"\(Self.program):$PATH\"", "Enter")
                    try await terminal.type(Self.setup, "Enter")
                    let origin = nginx.map { ("127.0.0.1:48443", "127.0.0.1:\($0.securePort)") }
                    let names = [
                        origin ?? ("127.0.0.1:48000", "127.0.0.1:\(server.port)"),
                        ("/home/you/store", folder["store"]), ("/home/you", place),
                    ]
                    let screen = Screen(terminal: terminal, gate: gate, names: names)
                    for index in recording.steps.indices {
                        let step = recording.steps[index]
                        let continues = recording.steps[index...].dropFirst().first?.isCommand == false
                        let rows = try await screen.perform(step, continues: continues, comparing: Self.recorded == nil)
                        recording.steps[index].screen = rows
                        if Self.recorded == nil {
                            let expected = step.screen
                            #expect(
                                Recording.words(rows) == Recording.words(expected),
                                "\(step.text)\n\(rows.joined(separator: "\n"))")
                        }
                    }
                }
                await nginx?.stop()
                gate.open()
            }
            if Self.recorded != nil {
                try recording.write()
            } else if let expected = Self.requests[number] {
                #expect(server.requests.count == expected)
            }
        }
    }
}
