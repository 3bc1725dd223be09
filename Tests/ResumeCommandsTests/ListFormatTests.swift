import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// What the lines of `get -i` may say besides URLs.
@Suite(.timeLimit(.minutes(20)))
struct ListFormatTests {
    private let home = Home()

    /// "abc", the example of FIPS 180.
    private static let handler: @Sendable (OriginRequest) -> Response = {
        .file(Resource(Content("abc"), etag: "\"v1\""), for: $0)
    }
    private static let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private func get(_ list: String, _ options: String...) async throws -> Outcome {
        try home.write(list.utf8, to: "list")
        return await home.run(["get", "-i", home["list"], "-P", home["out"]] + options)
    }

    @Test("A tab and a name, or aria2's options, name the file, its folder and its digest")
    func named() async throws {
        let server = try await home.serve(Self.handler)
        let list = """
            \(server.url("/a"))\tone.bin
            \(server.url("/b"))
              out=two words.bin
            \tdir=sub/folder
             checksum=sha-256=\(Self.sha256)
            # A comment, then a URL that is indented.
              \(server.url("/c?x=1"))
            """
        try await get(list).expect(.success)
        #expect(try home.names(in: "out") == ["c", "one.bin", "sub"])
        #expect(try home.names(in: "out/sub/folder") == ["two words.bin"])
        #expect(server.requests.map(\.target).sorted() == ["/a", "/b", "/c?x=1"])
        try await get(list).expect(.success)
        #expect(server.requests.count == 5, "the digest tells without a request")
    }

    @Test("Folders end at each slash, also before a combining mark")
    func combining() async throws {
        let server = try await home.serve(Self.handler)
        try await get("\(server.url("/a"))\n dir=sub/\u{301}f\n").expect(.success)
        #expect(try home.names(in: "out/sub/\u{301}f") == ["a"])
    }

    @Test("A digest of a list that the file does not have is a failure, also for resume")
    func wrongDigest() async throws {
        let server = try await home.serve(Self.handler)
        let list = "\(server.url("/a"))\n checksum=sha-256=\(String(repeating: "0", count: 64))\n"
        try await get(list).expect(.refused)
        await home.run("resume", server.url("/a")).expect(.refused)
        #expect(!home.has("out/a"))
    }

    @Test(
        "What a line says is refused with its reason, and nothing else is requested for it",
        arguments: [
            ("URL name.zip\n", "line 1: a URL and other text; write %20 for a space in a URL, a tab before the name"),
            ("URL # note\n", "line 1: a URL and other text"), ("URL\tx\ty\n", "line 1: a URL and other text"),
            ("URL\n  header=X: y\n", "line 1: header is not supported in a list, only out, dir and checksum"),
            ("URL\n  out=x\n  dir=../x\n", "line 1: a list chooses folders inside the current one; --input-format"),
            ("URL\n  dir=/tmp\n", "line 1: a list chooses folders inside"),
            ("URL\n dir=.ssh\n", "chooses folders inside"),
            ("URL\tx/y\n", "line 1: 'x/y' is not the name of a file"), ("URL\t..\n", "line 1: '..' is not the name"),
            ("URL\t.bashrc\n", "is hidden or begins with a dash"),
            ("URL\n out=-rf\n", "is hidden or begins with a dash"),
            ("URL\n  checksum=md5=00\n", "line 1: use checksum=sha-256= and 64 hexadecimal digits"),
            ("URL\n  checksum=sha-224=00\n", "sha-1= and 40, or md5= and 32. For others, remove checksum="),
            ("URL\n dir=/\u{301}x\n", "line 1: a list chooses folders inside"),
            ("URL\tx/\u{301}y\n", "is not the name"),
            ("URL\ta\u{202E}b\n", "line 1: 'a\\u{202E}b' has invisible"), ("URL\n out=a\u{7}b\n", "has invisible"),
            ("URL\n dir=a\u{1B}b\n", "has invisible"),
            ("URL\n" + String(repeating: " out=x\n", count: 17), "line 1: more than 16 options"),
            ("URL\n out=\(String(repeating: "x", count: 70_000))\n", "line 1: more than 16 options, or 64 KiB"),
            ("  out=x\n", "line 1: an option without a URL"),
            ("", "list contains no URL; write one on each line"), ("# none\n\n", "list contains no URL"),
        ])
    func refused(list: String, reason: String) async throws {
        let server = try await home.serve(Self.handler)
        let outcome = try await get(list.replacing("URL", with: server.url("/a"))).expect(.refused)
        #expect(outcome.errors.contains(reason), "\(outcome.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test("A format that is named permits nothing else, or every folder")
    func formats() async throws {
        let server = try await home.serve(Self.handler)
        let list = "\(server.url("/a"))\n  out=b\n  dir=\(home["else/where"])\n"
        #expect(try await get(list, "--input-format", "urls").errors.contains("line 2: not an absolute URL"))
        #expect(try await get("\(server.url("/a"))\tb\n", "--input-format", "urls").status == .refused)
        try await get(list, "--input-format", "aria2").expect(.success)
        #expect(try home.names(in: "else/where") == ["b"])
        try await get(list, "--input-format", "metalink").expect(.usage, says: "auto")
    }

    @Test("More lines than are read at once keep their options")
    func long() async throws {
        let server = try await home.serve(Self.handler)
        try await get((0..<1100).map { "\(server.url("/\($0)"))\n  out=f\($0)\n" }.joined()).expect(.success)
        let names = try Set(home.names(in: "out"))
        #expect(names == Set((0..<1100).map { "f\($0)" }))
    }

    @Test("A compressed list, and a list that is a URL, are refused with what to type")
    func notAList() async throws {
        try home.write([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], to: "list.gz")
        await home.run("get", "-i", home["list.gz"]).expect(.usage, says: "list.gz is compressed with gzip; give what")
        await home.run("get", "-i", "http://127.0.0.1:9/list")
            .expect(.usage, says: "resumectl get -o - URL | resumectl get -i -")
    }

    @Test("The clash of two arguments names both URLs")
    func clash() async throws {
        let server = try await home.serve(Self.handler)
        let (one, two) = (server.url("/1/a"), server.url("/2/a"))
        let outcome = await home.run("get", "-P", home.path, one, two).expect(.cannotCreate)
        let text = "\(two): argument 4: would be written to \(home["a"]), as would \(one) (argument 3)"
        #expect(outcome.errors.contains(text))
    }
}
