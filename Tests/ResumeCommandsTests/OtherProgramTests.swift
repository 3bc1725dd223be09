import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Options of curl, wget, wget2 and aria2c: each one is accepted, or has its hint.
@Suite(.timeLimit(.minutes(20)))
struct OtherProgramTests {
    private let home = Home()

    private static let url = "http://127.0.0.1:9/file.bin"
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The names of options that the help of each program lists.
    private static let names = Result {
        let programs = try text("Tests/other_programs.txt").split(separator: "\n").split { $0.hasSuffix(":") }
        return programs.map { $0.flatMap { $0.split(separator: " ").map(String.init) } }
    }

    private static let get = CommandShape(of: [GetCommand.self])

    /// The lines of the table: the purpose, the options with their programs, and what is done.
    private static let rows = Result {
        try text("Sources/ResumeCommands/Usage/Texts/foreign-options.tsv").split(separator: "\n").map { line in
            let parts = line.split(separator: "\t").map(String.init)
            let options = parts[1].split(separator: ", ").flatMap { part in
                let words = part.split(separator: " ").map(String.init)
                return words.dropFirst().map { (program: words[0], option: $0) }
            }
            return (purpose: parts[0], options: options, here: parts[2])
        }
    }

    @Test("None is unknown: it is accepted as it is or by another name, or has a hint")
    func all() throws {
        let programs = try Self.names.get()
        #expect(programs.map(\.count).allSatisfy { $0 > 190 } && programs.count == 4)
        for names in programs {
            var accepted = 0
            var hints = 0
            for name in names {
                let isOwn = Self.get.takesValue(name) != nil || ["--help", "-h", "--version"].contains(name)
                let isReplaced = ForeignOptions.replaced(in: ["get", name], of: ResumeCtl.self) != ["get", name]
                if isOwn || isReplaced {
                    accepted += 1
                } else if ForeignOptions.advice(on: name, Self.get) != nil {
                    hints += 1
                } else {
                    Issue.record("\(name) is unknown")
                }
            }
            #expect(accepted + hints == names.count)
        }
    }

    @Test("What a line of the table says is true of the parser")
    func table() throws {
        var meanings: [String: Set<String>] = [:]
        for row in try Self.rows.get() {
            for (program, option) in row.options {
                meanings[option, default: []].insert(row.here)
                guard ["curl", "wget", "aria2c"].contains(program) else { continue }
                let isOwn = Self.get.takesValue(option) != nil || option == "--version"
                if row.here == "same" { #expect(isOwn, "\(option) of \(program)") }
                if row.here.hasPrefix("=") {
                    #expect(!isOwn, "\(option) has two meanings")
                    #expect(Self.get.takesValue(String(row.here.dropFirst())) != nil, "\(row.here)")
                }
            }
        }
        // What is read as another option means that in every program.
        for (option, meanings) in meanings where meanings.contains(where: { $0.hasPrefix("=") }) {
            #expect(meanings.count == 1, "\(option): \(meanings)")
        }
    }

    @Test("The page of the documentation has every option of the table")
    func page() throws {
        let page = try Self.text("docs/other-programs.md")
        for row in try Self.rows.get() {
            #expect(page.contains("| \(row.purpose) | "))
            for (_, option) in row.options { #expect(page.contains("`\(option)`"), "\(option)") }
            #expect(row.here.hasPrefix("=") || row.here == "same" || page.contains("| \(row.here) |\n"), "\(row.here)")
        }
    }

    private static let replaced: [([String], [String])] = [
        (["--output-dir", "x"], ["--directory", "x"]), (["--directory-prefix=x"], ["--directory=x"]),
        (["--output-document=-"], ["--output=-"]), (["-nv", "-nc"], ["--no-progress", "--skip-existing"]),
        (["--no-check-certificate"], ["--insecure"]), (["--split=4"], ["--connections=4"]),
        (["--max-redirect=1"], ["--max-redirs=1"]), (["--allow-overwrite=true"], ["--overwrite"]),
        (["-N", "--tlsv1.2"], ["--location", "--location"]),
        (["--allow-overwrite=false"], ["--allow-overwrite=false"]),
        (["--", "--timestamping"], ["--", "--timestamping"]),
        (["-o", "--timestamping"], ["-o", "--timestamping"]),
        (["--output", "-nv", "-nv"], ["--output", "-nv", "--no-progress"]),
        (["--output-dir", "--timestamping"], ["--directory", "--timestamping"]),
    ]

    @Test("Another name becomes the one here, and values stay", arguments: replaced)
    func replacements(given: [String], read: [String]) {
        #expect(ForeignOptions.replaced(in: ["get"] + given, of: ResumeCtl.self) == ["get"] + read)
    }

    @Test("A command without the option does not get it")
    func otherCommands() async {
        #expect(ForeignOptions.replaced(in: ["list", "-N"], of: ResumeCtl.self) == ["list", "-N"])
        await home.run("list", "--output-dir", "x").expect(.usage, says: "unknown option '--output-dir'")
        await home.run("list", "--spider").expect(.usage, says: "verify --remote")
    }

    private static let refused: [([String], String)] = [
        (["-nH", url], "-nH: there is none"), (["-O", "dir/x.bin", url], "-O takes no name, as in curl"),
        (["-qO", "x.bin", url], "use -o FILE"), (["-qO-", url], "use -o -"), (["-O", "-", url], "use -o -"),
        (["-qo-", url], "use -o -"), (["--checksum", "md5=00", url], "or md5= and 32 (for others, use sha224sum"),
        (["-output", "x", url], "did you mean '--output'?"),
        (["-X", "GET", url], "option '-X'; curl's -X: there is none: only GET"),
        (["-z", "file", url], "option '-z'; leave it out: a file"),
        (["--no-clobber", url], "use --skip-existing"), (["--md5", "x", url], "use get --checksum md5="),
        (["-o", "my", "thesis/x", url], "--output requires exactly one URL, but 2 were given: …, '\(url)'"),
        ([url, "/tmp/x.bin"], "To name the file, use -o"), ([url, "survey"], "a URL with spaces must be in quotes"),
        (["--sha256", String(repeating: "a", count: 32), url], "for an MD5, use get --checksum md5="),
        // wget's flags would take the URL as their value.
        (["-b", url], "wget's -b: use '&' or systemd-run, then resumectl jobs. Here, -b is --cookie, as in curl."),
        (["-E", url], "wget's -E: there is none"), (["-H", url], "wget's -H: there is none: no links are followed"),
        (["-x", url], "wget's -x: there is none: without -o"), (["-A", "*.pdf", url], "wget's -A: there is none"),
        (["-A", "pdf,zip", url], "wget's -A"), (["-e", "robots=off", url], "wget's -e: use the variable"),
        (["-c", "jar.txt", url], "curl's -c: use --cookie-jar FILE"), (["-s", "16", url], "use --connections N"),
        (["-s16", "-x16", url], "aria2c's -s: use --connections N"), (["-x16", url], "use --connections 16"),
        ([url, "-O", "x.bin"], "to name the file, use -o FILE"),
        ([url, "-O", "-"], "use -o -"),
        // Two programs mean different things.
        (["-m", url], "curl's -m: use --max-time TIME; wget's -m: there is none: no links are followed"),
        (["-U", "x", url], "wget's and aria2c's and axel's -U: use -A TEXT; curl's -U: put the user"),
        (["-r", url], "curl's -r: use --range"), (["-d", "x", url], "aria2c's -d: use -P DIR"),
        (["--accept", "pdf", url], "unknown option '--accept'; there is none: no links"),
        (["--proto", "=https", url], "only http and https are used"), (["-nd", url], "-nd: there is none"),
    ]

    @Test("Arguments that show the habit of another program are refused with what to type", arguments: refused)
    func refusals(arguments: [String], text: String) async throws {
        await home.run(["get"] + arguments).expect(.usage, says: text)
        #expect(try home.names().isEmpty)
    }

    @Test("curl's own meaning of these letters is not refused")
    func meaningsOfCurl() async throws {
        let server = try await home.serve(Sample.whole)
        let options = [
            ["-b", "a=http://x/"], ["-H", "X: http://x/"], ["-A", "Mozilla/5.0 (a, b)"], ["-e", "http://x/?a=b"],
            ["-c"], ["-s"], ["-O"],
        ]
        for (number, option) in options.enumerated() {
            let outcome = await home.run(["get", "-o", home["\(number)"]] + option + [server.url("/\(number)")])
            #expect(outcome.status == .success, "\(option): \(outcome.errors)")
        }
    }

    @Test("--tries counts the first attempt, and -T is the time without data")
    func tries() async throws {
        let server = try await home.serve { _ in .status("503 Unavailable", fields: [("Retry-After", "0")]) }
        let get = ["get", server.url(), "-o", home["out"], "-T", "5"]
        await home.run(get + ["-t", "1"]).expect(.tryAgain)
        #expect(server.requests.count == 1)
        await home.run(get + ["--tries=3"]).expect(.tryAgain)
        #expect(server.requests.count == 4)
        await home.run(get + ["-t", "1", "--retries", "1"]).expect(.usage, says: "--retries and --tries")
    }
}
