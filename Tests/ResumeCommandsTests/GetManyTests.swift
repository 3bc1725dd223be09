import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// `get` with several URLs, from the command line and from a file.
@Suite(.timeLimit(.minutes(20)))
struct GetManyTests {
    private let home = Home()

    /// Serves under each path other bytes.
    private static let handler: @Sendable (OriginRequest) -> Response = { request in
        .file(Resource(content(request.path), etag: "\"\(request.path)\""), for: request)
    }

    private static func content(_ path: String) -> Content { Content("the bytes of \(path)") }

    @Test func directory() async throws {
        try home.makeFolder("files")
        let server = try await home.serve(Self.handler)
        let paths = ["/a.bin", "/deep/er/b.bin", "/c%20d.bin"]
        let urls = paths.map { server.url($0) } + [server.url("/e.bin?part=1")]
        let outcome = await home.run(["get", "--directory", home["files"]] + urls).expect(.success)
        #expect(try home.names(in: "files") == ["a.bin", "b.bin", "c d.bin", "e.bin"])
        #expect(Self.content("/deep/er/b.bin").matches(try home.bytes("files/b.bin")))
        #expect(Self.content("/c%20d.bin").matches(try home.bytes("files/c d.bin")))
        // A busy machine may add a line about a wait.
        #expect(outcome.errors.split(separator: "\n").count { $0.contains(": done") } == 4, "\(outcome.errors)")
    }

    @Test func aDirectoryWithASlashAtItsEnd() async throws {
        let server = try await home.serve(Self.handler)
        let outcome = await home.run("get", server.url("/a.bin"), "-P", home.path + "/", "--json").expect(.success)
        let finished = try #require(try outcome.json.last)
        #expect(finished["path"]?.string == home["a.bin"])
    }

    @Test func inputFile() async throws {
        let server = try await home.serve(Self.handler)
        let text = """
            # the first two
            \(server.url("/a.bin"))
              \(server.url("/b.bin"))\t

            #\(server.url("/not.bin"))
            """
        try home.write("\(text)\r\n\(server.url("/c.bin"))".utf8, to: "list.txt")
        await home.run(
            "get", server.url("/d.bin"), "--input-file", home["list.txt"], "--directory", home.path
        ).expect(.success)
        #expect(try home.names() == ["a.bin", "b.bin", "c.bin", "d.bin", "list.txt", "store"])
    }

    /// What is no list of URLs is refused, with the line, before anything is fetched, and without reading on for ever.
    @Test(arguments: ["long", "missing", "/dev/zero", "/dev"])
    func noInputFile(text: String) async throws {
        let path = text.hasPrefix("/") ? text : home["list.txt"]
        switch text {
        case "missing", "/dev/zero", "/dev": break
        default: try home.write(Array("http://a/b\n".utf8) + Array(repeating: 0x61, count: 2 << 20), to: "list.txt")
        }
        let outcome = await home.run("get", "-i", path, "-P", home.path)
        let isUnreadable = ["missing", "/dev"].contains(text)
        #expect(outcome.status == (isUnreadable ? .notFound : .usage), "\(outcome.errors)")
        let reason = [
            "long": "line 2: too long", "missing": "cannot read \(path): No such file or directory\n",
            "/dev/zero": "line 1: too long", "/dev": "cannot read /dev: it is a folder\n",
        ]
        #expect(outcome.errors.contains(reason[text] ?? "none"), "\(outcome.errors)")
        #expect(!home.has("store"))
    }

    @Test("Several URLs on a line are an error that says where they belong, and the other lines are downloaded")
    func severalOnALine() async throws {
        let server = try await home.serve(Self.handler)
        let (one, two) = (server.url("/a.bin"), server.url("/b.bin"))
        try home.write("\(one) \(two)\n\(one)\t\(two)\n\(two)\n".utf8, to: "list.txt")
        let outcome = await home.run("get", "-i", home["list.txt"], "-P", home.path)
        #expect(outcome.status == .refused && !home.has("a.bin") && home.has("b.bin"), "\(outcome.errors)")
        let problem = "several URLs; put each URL on its own line"
        #expect(outcome.errors.contains("list.txt, line 1: \(problem)\n"), "\(outcome.errors)")
        #expect(outcome.errors.contains("list.txt, line 2: \(problem); several servers of a file are not"))
        #expect(server.requests.count == 1)
    }

    /// The same URL twice is one download; of two URLs for one file, the second is an error.
    @Test func repeatedLines() async throws {
        let server = try await home.serve(Self.handler)
        let url = server.url("/a.bin")
        // With the mark that some editors begin a text with.
        try home.write("\u{FEFF}\(url)\n\(url)\n".utf8, to: "list.txt")
        await home.run("get", "-i", home["list.txt"], "-P", home.path).expect(.success)
        #expect(server.requests.count == 1)
        // The second one would replace the file of the first one. The others are downloaded.
        try home.write("\(url)\n\n\(url)?token=1\n\(server.url("/b.bin"))\n".utf8, to: "list.txt")
        let clash = await home.run("get", "-i", home["list.txt"], "-P", home.path).expect(.cannotCreate)
        let text =
            "resumectl: \(url): \(home["list.txt"]), line 3: would be written to \(home["a.bin"]), "
            + "as would \(url) (\(home["list.txt"]), line 1); not downloaded. Use --auto-rename"
        #expect(clash.errors.contains(text), "\(clash.errors)")
        #expect(clash.errors.hasSuffix("resumectl: 1 of 3 downloads did not complete\n"))
        #expect(server.requests.map(\.target).sorted() == ["/a.bin", "/a.bin", "/b.bin"])
    }

    /// A list that was cut short, or grew, is run again for what is missing.
    @Test func skipExisting() async throws {
        let server = try await home.serve(Self.handler)
        let urls = ["/a.bin", "/b.bin", "/c.bin"].map { server.url($0) }
        try home.write("older".utf8, to: "b.bin")
        await home.run(["get", "--skip-existing", "-P", home.path] + urls)
            .expect(.success, says: "b.bin: already exists, skipped")
        #expect(server.requests.map(\.path).sorted() == ["/a.bin", "/c.bin"])
        #expect(try home.bytes("b.bin") == Array("older".utf8))
        let again = await home.run(["get", "--skip-existing", "--json", "-P", home.path] + urls)
        #expect(again.status == .success && server.requests.count == 2)
        let events = try again.json
        #expect(events.map { $0["event"]?.string } == ["skipped", "skipped", "skipped"])
        #expect(events.map { $0["path"]?.string } == ["a.bin", "b.bin", "c.bin"].map { "\(home.path)/\($0)" })
        // Neither a folder nor a FIFO is a file.
        try home.makeFolder("d.bin")
        #expect(mkfifo(home["e.bin"], 0o600) == 0)
        for name in ["d.bin", "e.bin"] {
            await home.run("get", "--skip-existing", "-P", home.path, server.url("/\(name)")).expect(.cannotCreate)
        }
        // What the file must be would not be looked at.
        let digest = String(repeating: "0", count: 64)
        await home.run("get", "--skip-existing", "--sha256", digest, "-P", home.path, urls[0]).expect(.usage)
    }

    private static let named: @Sendable (OriginRequest) -> Response = { request in
        var resource = Resource(content(request.path), etag: "\"\(request.path)\"")
        resource.extraFields = [("Content-Disposition", "attachment; filename=\"name.zip\"")]
        return .file(resource, for: request)
    }

    @Test("Two files to which the server gives one name are both kept, in one run and in two", arguments: [1, 2])
    func oneNameOfTheServer(runs: Int) async throws {
        let server = try await home.serve(Self.named)
        let urls = [server.url("/a"), server.url("/b")]
        let get = ["get", "-J", "-P", home["out"]]
        for part in runs == 1 ? [urls] : urls.map({ [$0] }) { await home.run(get + part).expect(.success) }
        #expect(try home.names(in: "out") == ["name.1.zip", "name.zip"])
        let files = try Set(home.names(in: "out").map { try home.bytes("out/\($0)") })
        #expect(files.count == 2)
        // Each is recognized where it is.
        for _ in 1...2 {
            await home.run(get + urls).expect(.success)
            #expect(try home.names(in: "out") == ["name.1.zip", "name.zip"])
            #expect(try Set(home.names(in: "out").map { try home.bytes("out/\($0)") }) == files)
        }
    }

    @Test("A file of the user with the server's name is kept, and with --auto-rename the new one gets a number")
    func numberedBesideTheUsers() async throws {
        let server = try await home.serve(Self.named)
        try home.makeFolder("out")
        try home.write("mine".utf8, to: "out/name.zip")
        let get = ["get", "-J", "-P", home["out"], server.url("/a")]
        await home.run(get).expect(.cannotCreate, says: "--auto-rename keeps both")
        for _ in 1...2 {
            await home.run(get + ["--auto-rename"]).expect(.success)
            #expect(try home.names(in: "out") == ["name.1.zip", "name.zip"])
        }
        #expect(try home.bytes("out/name.zip") == Array("mine".utf8))
        #expect(Self.content("/a").matches(try home.bytes("out/name.1.zip")))
    }

    /// URLs that all end alike, as those of downloads from a database do, get the server's names.
    @Test func remoteHeaderName() async throws {
        let server = try await home.serve { request in
            var resource = Resource(Self.content(request.path), etag: "\"a\"")
            let number = request.target.suffix(1)
            if number != "3" { resource.extraFields = [("Content-Disposition", "attachment; filename=\(number).pdf")] }
            return .file(resource, for: request)
        }
        let urls = (1...3).map { server.url("/get/?id=\($0)") }
        let outcome = await home.run(["get", "-J", "-P", home.path] + urls + [urls[0]]).expect(.success)
        #expect(server.requests.count == 3)
        #expect(try home.names() == ["1.pdf", "2.pdf", "download", "store"])
        let path = home["2.pdf"]
        #expect(outcome.errors.contains("\(path): done"))
        // A file of the same length and time at the name that the job began with is not the delivered one.
        let written = try FileManager.default.attributesOfItem(atPath: home["1.pdf"])[.modificationDate]
        let time = try #require(written as? Date)
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: home["download"])
        // What is there is not fetched again into its place.
        try home.write("mine".utf8, to: "1.pdf")
        let again = await home.run("get", "--remote-header-name", "-P", home.path, urls[0])
        #expect(again.status == .cannotCreate && again.errors.contains("1.pdf already exists"))
        let skipping = await home.run(["get", "-J", "--skip-existing", "-P", home.path] + urls)
        #expect(skipping.status == .success && skipping.errors.contains("1.pdf: already exists, skipped"))
        #expect(server.requests.count == 7)
        #expect(try home.bytes("1.pdf") == Array("mine".utf8))
        let told = try await home.run(["get", "-J", "--skip-existing", "--json", "-P", home.path, urls[0]]).json
        #expect(told.map { $0["event"]?.string } == ["skipped"])
        #expect(told.map { $0["path"]?.string } == [home["1.pdf"]])
        // What would be the name without a server's is not needed.
        try home.makeFolder("get")
        let fourth = await home.run("get", "-J", "-P", home.path, server.url("/get?id=4"))
        #expect(fourth.status == .success && home.has("4.pdf"), "\(fourth.errors)")
        // Nothing was begun for what was there.
        let log = await home.run("log")
        #expect(!log.output.contains("interrupted"), "\(log.output)")
        await home.run("get", "-J", "-o", home["a"], urls[0]).expect(.usage)
    }

    @Test("The paths of delivered files are printed for another program")
    func paths() async throws {
        let server = try await home.serve { request in
            request.path == "/gone.bin" ? .status("404 Not Found") : Self.handler(request)
        }
        let urls = ["/a.bin", "/gone.bin", "/b.bin"].map { server.url($0) }
        let get = ["get", "-j", "1", "-P", home.path] + urls
        #expect(await home.run(get).expect(.refused).lines == [home["a.bin"], home["b.bin"]])
        #expect(await home.run(get, outputWidth: 80).output.isEmpty)
        #expect(await home.run(get + ["--quiet"]).output.isEmpty)
        #expect(try await home.run(get + ["--restart", "--json"]).json.count > 3)
        // The name is the server's, and the path absolute.
        #expect(await home.run("get", "-J", "-P", home.path, server.url("/c.bin")).lines == [home["c.bin"]])
    }

    /// A shell's `<(…)` is a pipe.
    @Test func inputFromAPipe() async throws {
        let server = try await home.serve(Self.handler)
        #expect(mkfifo(home["list"], 0o600) == 0)
        let (path, url) = (home["list"], server.url("/a.bin"))
        let writer = Thread {
            let file = fopen(path, "w")
            fputs("\(url)\n", file)
            fclose(file)
        }
        writer.start()
        await home.run("get", "-i", path, "-P", home.path).expect(.success)
        #expect(home.has("a.bin"))
    }

    /// An unset variable must not mean the root folder.
    @Test func emptyPlaces() async throws {
        for option in ["-P", "-o"] {
            await home.run("get", option, "", "http://127.0.0.1:9/file.bin").expect(.usage)
        }
    }

    /// How many failed is said at the end, where one looks.
    @Test func howManyFailed() async throws {
        let server = try await home.serve { request in
            request.path == "/b.bin" ? .status("404 Not Found") : Self.handler(request)
        }
        let urls = ["/a.bin", "/b.bin", "/c.bin"].map { server.url($0) }
        let outcome = await home.run(["get", "-P", home.path] + urls).expect(.refused)
        #expect(outcome.errors.hasSuffix("resumectl: 1 of 3 downloads did not complete\n"))
        await home.run("get", "-P", home.path, urls[1]).expect(hides: " of ")
        // Those that were skipped are of the list as well.
        let rest = await home.run(["get", "--skip-existing", "-P", home.path] + urls)
        #expect(rest.errors.hasSuffix("resumectl: 1 of 3 downloads did not complete\n"))
    }

    @Test func aWrongLineInTheInputFile() async throws {
        let server = try await home.serve(Self.handler)
        try home.write("# comment\n\n\(server.url("/a.bin"))\nnonsense\n".utf8, to: "list.txt")
        let outcome = await home.run("get", "-i", home["list.txt"], "-P", home.path)
            .expect(.refused, says: "list.txt, line 4: not an absolute URL")
        #expect(outcome.errors.hasSuffix("resumectl: 1 of 2 downloads did not complete\n"))
        #expect(home.has("a.bin"))
        // A line in another encoding is one too.
        try home.write([0x2F, 0xFF, 0x0A] + Array(server.url("/b.bin").utf8), to: "list.txt")
        let events = try await home.run("get", "-i", home["list.txt"], "-P", home.path, "--json").json
        #expect(events.first?["message"]?.string == "\(home["list.txt"]), line 1: not in UTF-8")
        #expect(events.first?["event"]?.string == "failed" && events.first?["reason"]?.string == "invalid-url")
        #expect(events.last?["event"]?.string == "finished" && home.has("b.bin"))
        // An argument that is wrong is noticed before anything is downloaded.
        let count = server.requests.count
        await home.run("get", server.url("/c.bin"), "nonsense", "-P", home.path).expect(.usage)
        #expect(server.requests.count == count)
    }

    /// One that fails does not stop the others, and the status is that of the worst.
    @Test func oneFails() async throws {
        let server = try await home.serve { request in
            switch request.path {
            case "/gone.bin": .status("404 Not Found")
            case "/later.bin": .status("503 Service Unavailable")
            default: Self.handler(request)
            }
        }
        let get = ["get", "--directory", home.path, "--retries", "0"]
        let later = await home.run(get + [server.url("/a.bin"), server.url("/later.bin")]).expect(.tryAgain)
        #expect(home.has("a.bin"), "\(later.errors)")
        let both = ["/later.bin", "/gone.bin", "/b.bin"].map { server.url($0) }
        let gone = await home.run(get + both)
        #expect(gone.status == .refused)
        #expect(gone.errors.contains("resumectl: \(server.url("/gone.bin")): "))
        #expect(gone.errors.contains("resumectl: \(server.url("/later.bin")): "))
        #expect(home.has("b.bin"), "\(gone.errors)")
    }

    @Test func oneAtATime() async throws {
        let server = try await home.serve(Self.handler)
        let paths = (1...6).map { "/\($0).bin" }
        await home.run(
            ["get", "--directory", home.path, "--max-concurrent", "1"] + paths.map { server.url($0) }
        ).expect(.success)
        #expect(server.requests.map(\.path) == paths)
    }

    /// Downloads that run side by side share one connection to the database, and must not meet on it.
    @Test func manyAtATime() async throws {
        let server = try await home.serve(Self.handler)
        let urls = (1...40).map { server.url("/\($0).bin") }
        await home.run(["get", "--directory", home.path, "-j", "16"] + urls).expect(.success)
        #expect(try home.names().count == 41)
        for number in 1...40 {
            #expect(Self.content("/\(number).bin").matches(try home.bytes("\(number).bin")), "\(number)")
        }
    }

    @Test func noMoreThanAllowedAtATime() async throws {
        let server = try await home.serve { _ in Response([.hold]) }
        let urls = (1...5).map { server.url("/\($0).bin") }
        let download = Task { await home.run(["get", "--directory", home.path, "-j", "2"] + urls) }
        try await wait { server.requests.count == 2 }
        // Nobody gets an answer, so nobody makes room for a third. The interruption ends all five.
        download.cancel()
        #expect(await download.value.status == .interrupted)
        #expect(server.requests.count == 2)
    }

    @Test func twoOfOneName() async throws {
        let server = try await home.serve(Self.handler)
        let outcome = await home.run(
            "get", server.url("/a/x.bin"), server.url("/b/x.bin"), "--directory", home.path, "--json")
        #expect(outcome.status == .cannotCreate)
        #expect(outcome.errors.contains("argument 2: would be written to \(home["x.bin"]), as would"))
        #expect(outcome.errors.contains("\(server.url("/a/x.bin")) (argument 1); not downloaded"), "\(outcome.errors)")
        #expect(Self.content("/a/x.bin").matches(try home.bytes("x.bin")))
        let failed = try #require(try outcome.json.first)
        #expect(failed["event"]?.string == "failed" && failed["url"]?.string == server.url("/b/x.bin"))
        #expect(try outcome.events.last == "finished")
        // What is there already does not hide the error.
        let skipped = await home.run(
            "get", server.url("/a/x.bin"), server.url("/b/x.bin"), "-P", home.path, "--skip-existing")
        #expect(skipped.status == .cannotCreate && skipped.errors.contains("1 of 2"), "\(skipped.errors)")
    }

    @Test("With --auto-rename, equal names are numbered, in the order of the list")
    func autoRename() async throws {
        let server = try await home.serve(Self.handler)
        let paths = [
            "/1/x.bin", "/2/x.bin", "/3/x.1.bin", "/4/x.bin", "/1/.hidden", "/2/.hidden", "/a/no", "/b/no",
        ]
        let urls = paths.map { server.url($0) }
        let names = ["x.bin", "x.1.bin", "x.1.1.bin", "x.2.bin", ".hidden", ".hidden.1", "no", "no.1"]
        for _ in 1...2 {
            // A URL that is repeated is one download, even if it was renamed.
            await home.run(["get", "--auto-rename", "-P", home["d.d"]] + urls + [urls[1], urls[0]]).expect(.success)
            #expect(try home.names(in: "d.d") == names.sorted())
            for (path, name) in zip(paths, names) {
                #expect(Self.content(path).matches(try home.bytes("d.d/\(name)")), "\(name)")
            }
        }
        #expect(server.requests.count == 2 * paths.count)
    }

    @Test("The folder is created, with those above it, and --output is a name in it")
    func createdDirectory() async throws {
        let server = try await home.serve(Self.handler)
        for (folder, arguments) in [("new", []), ("deep/er/", []), ("named", ["-o", "b.bin"])] {
            await home.run(["get", server.url("/a.bin"), "-P", home[folder]] + arguments).expect(.success)
        }
        #expect(home.has("new/a.bin") && home.has("deep/er/a.bin") && home.has("named/b.bin"))
        // Not for a command line that is wrong.
        await home.run("get", server.url("/a.bin"), "nonsense", "-P", home["not"]).expect(.usage)
        #expect(!home.has("not"))
    }
}
