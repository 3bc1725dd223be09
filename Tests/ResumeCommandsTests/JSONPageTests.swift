import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import Testing

/// `docs/json.md` describes the JSON that the commands print.
@Suite(.timeLimit(.minutes(20)))
struct JSONPageTests {
    private let home = Home()
    /// The names with their types, by the first column of the table.
    private let page: [String: [String: String]]

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let text = try String(contentsOf: root.appendingPathComponent("docs/json.md"), encoding: .utf8)
        var page: [String: [String: String]] = [:]
        for match in text.matches(of: /(?m)^\| (`[^|]+) \| (`[^|]+) \|$/) {
            let names = match.2.matches(of: /`(\w+)` (\w+\??)/).map { (String($0.1), String($0.2)) }
            page[String(match.1).replacing("`", with: "")] = Dictionary(names) { first, _ in first }
        }
        self.page = page
    }

    private func compare(_ name: String, _ object: JSONText?, optional: [String] = []) throws {
        let object = try #require(object, "nothing is printed for \(name)")
        let types = try #require(page[name], "the page has no row \(name)")
        #expect(object.keys.filter { !optional.contains($0) } == types.keys.sorted(), "\(name)")
        for (key, type) in types {
            let isRight =
                switch object[key] {
                case .null?: type.hasSuffix("?")
                case .string?: type.hasPrefix("text")
                case .number?: type.hasPrefix("number")
                case .bool?: type.hasPrefix("flag")
                case .array?: type.hasPrefix("list")
                case .object?: type.hasPrefix("object")
                case nil: false
                }
            #expect(isRight, "\(name): \(key) is not \(type)")
        }
    }

    @Test("Commands that inspect and clean up")
    func inspecting() async throws {
        let url = try await home.leavePartial()
        let entry = try await home.run("list", "--json").object
        try compare("list", entry)
        try compare("list, an element of chunks", entry["chunks"]?.array?.first)
        let shown = try await home.run("show", url, "--json").object
        let inherited = entry.keys
        try compare("show, in addition to those of list", shown, optional: inherited)
        #expect(Set(inherited).isSubset(of: shown.keys))
        try compare("log", shown["events"]?.array?.first)
        try compare("log", try await home.run("log", "--json").json.first)
        try compare("jobs", try await home.run("jobs", "--json").object)
        try compare("stats", try await home.run("stats", "--json").object)
        try compare("config", try await home.run("config", "--json").json.first)
        let doctor = try await home.run("doctor", "--json").object
        try compare("doctor", doctor)
        try compare("doctor, an element of checks", doctor["checks"]?.array?.first)
        try home.write(Sample.content.bytes(in: 0..<100_000), to: "half")
        let server = try await home.serve { .file(Sample.resource, for: $0) }
        let adopted = await home.run("adopt", home["half"], server.url("/half"), "-o", home["h"], "--json")
        try compare("adopt", try adopted.object, optional: ["agreedSamples"])
        let verified = await home.run("verify", "--remote", server.url("/half"), "--json")
        try compare("verify --remote", try verified.object, optional: ["agreedSamples"])
        let report = try await home.run("gc", "--max-size", "0", "--dry-run", "--json").object
        try compare("purge, gc", report)
        try compare("gc, an element of removed", report["removed"]?.array?.first)
        try compare("purge, gc", try await home.run("purge", url, "--dry-run", "--json").object)
        let blobs = try FileManager.default.subpathsOfDirectory(atPath: home["store/blobs"])
        let blob = try #require(blobs.max { $0.count < $1.count })
        try home.remove("store/blobs/\(blob)")
        try compare("verify", try await home.run("verify", "--json").json.first)
    }

    @Test("Delivered files")
    func delivered() async throws {
        let server = try await home.serve(Sample.whole)
        let digest = try #require(HTTPDigest(.sha256, of: Sample.content.bytes(in: Sample.content.all)))
        let get = ["get", server.url(), "-o", home["out"], "--sha256", digest.hexadecimal]
        await home.run(get).expect(.success)
        try compare("history", try await home.run("history", "--json").object, optional: ["sha256"])
        let shown = try await home.run("show", home["out"], "--json").object
        try compare("show, a delivered file", shown, optional: ["sha256"])
        for isFile in [true, false] {
            if !isFile {
                try home.remove("out")
                try FileManager.default.createSymbolicLink(atPath: home["out"], withDestinationPath: home.database)
            }
            let verified = await home.run("verify", home["out"], "--json").expect(isFile ? .success : .damaged)
            let file = try verified.object
            try compare("verify, a file", file, optional: ["sha256"])
            #expect((file["found"] != .null) == isFile && file["sha256"]?.string == digest.hexadecimal)
        }
    }

    @Test("Events of get")
    func events() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "-o", home["out"], "--json"]
        var events = try await home.run(get).json
        events += try await home.run(get + ["--skip-existing"]).json
        server.setHandler { .file(Sample.resource, for: $0, cutAfter: Sample.cut) }
        _ = await home.run("get", server.url("/b"), "-o", home["b"], "--retries", "0")
        server.setHandler { .file(Sample.changedResource, for: $0) }
        events += try await home.run("get", server.url("/b"), "-o", home["b"], "--json").json
        server.setHandler { _ in .status("404 Not Found") }
        events += try await home.run("get", server.url("/c"), "-o", home["c"], "--json").json
        for name in ["started", "resumed", "restarted", "progress", "retrying", "skipped", "failed", "finished"] {
            let event = events.first { $0["event"]?.string == name }
            try compare("get, event \(name)", event, optional: ["sha256", "agreedSamples", "contentCoding"])
        }
    }
}
