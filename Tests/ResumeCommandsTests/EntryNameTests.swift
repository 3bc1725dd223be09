import OriginServer
@testable import ResumeCommands
import Testing

/// Entries are named by their key, URL, destination, or a part of these, by all commands alike.
@Suite(.timeLimit(.minutes(20)))
struct EntryNameTests {
    private let home = Home()

    @Test("A destination or a part of a URL names an entry", arguments: ["destination", "part"])
    func names(kind: String) async throws {
        let url = try await home.leavePartial("first-image.iso", options: ["--output", home["one"]])
        try await home.leavePartial("second-image.iso", options: ["--output", home["two"]])
        let name = kind == "part" ? "first-im" : home["one"]
        let pinned = await home.run("pin", name)
        #expect(pinned.status == .success && pinned.errors == "pinned: \(url)\n")
        #expect(try await home.entry(url)?["pinned"]?.bool == true)
        let unpinned = await home.run("unpin", name)
        #expect(unpinned.status == .success && unpinned.errors == "unpinned: \(url)\n")
        #expect(try await home.entry(url)?["pinned"]?.bool == false)
        let log = await home.run("log", name)
        let whole = await home.run("log", url)
        #expect(log.status == .success && !log.lines.isEmpty && log.output == whole.output)
        let rows = "chunk SET received = received + 1 WHERE download = (SELECT id FROM download WHERE url = '\(url)')"
        try await home.sql("UPDATE \(rows)")
        await home.run("verify", name).expect(.damaged)
        await home.run("verify", "second-im").expect(.success)
        await home.run("purge", name).expect(.success, prints: "removed \(url)")
        #expect(try await home.run("list", "--json").json.count == 1)
    }

    @Test("A part of several entries changes nothing, and the entries are listed")
    func ambiguous() async throws {
        let urls = [try await home.leavePartial("a-image.iso"), try await home.leavePartial("b-image.iso")]
        for command in ["pin", "unpin", "log", "verify", "purge", "show"] {
            let outcome = await home.run(command, "image.iso")
            #expect(outcome.status == .notFound && outcome.output.isEmpty, "\(command)")
            #expect(outcome.errors.contains("2 entries match image.iso; name one of them:"), "\(outcome.errors)")
            for url in urls { #expect(outcome.errors.contains("\n  \(url)\n")) }
        }
        #expect(try await home.run("list", "--json").json.count == 2)
    }

    @Test("One or two characters are no part of a name, so that a mistyped key removes nothing")
    func short() async throws {
        try await home.leavePartial(options: ["--key", "release"])
        await home.run("purge", "re").expect(.refused)
        await home.run("purge", "rel").expect(.success)
    }

    @Test("One ideograph is a part of a name, in a destination or encoded in a URL", arguments: ["映", "映画", "画 1"])
    func ideographs(text: String) async throws {
        let url = try await home.leavePartial("%E6%98%A0%E7%94%BB%201.bin", options: ["--output", home["one"]])
        for command in ["show", "log", "pin"] {
            await home.run(command, text).expect(.success)
        }
        #expect(try await home.entry(url)?["pinned"]?.bool == true)
    }

    @Test("An empty list says so in a terminal only")
    func empty() async throws {
        #expect(
            await home.run("list", outputWidth: 80).errors == "the store is empty: there are no partial downloads\n")
        #expect(await home.run("list").errors.isEmpty)
        #expect(await home.run("list", "--json", outputWidth: 80).errors.isEmpty)
    }

    @Test("A refusal says that the partial data is kept, and is recorded once for the range and once for the file")
    func refusal() async throws {
        let server = try await home.serve { request in
            request.number == 1 ? .file(Sample.resource, for: request, cutAfter: Sample.cut) : .status("404 Not Found")
        }
        let get = ["get", server.url(), "-o", home["file"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        await home.run(get).expect(.refused, says: "404 Not Found; the partial data is kept\n")
        #expect(server.requests.map { $0.field("Range") != nil } == [false, true, false])
        #expect(await home.run("log").output.ranges(of: "404 Not Found").count == 2)
    }
}
