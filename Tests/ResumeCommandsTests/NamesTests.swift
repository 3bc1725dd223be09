import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import Synchronization
import Testing

/// What `get` does about files at its destinations that it has not written.
@Suite(.timeLimit(.minutes(20)))
struct NamesTests {
    private let home = Home()

    private static let bytes = Array("the bytes of the server, and some more of them".utf8)
    private static let handler: @Sendable (OriginRequest) -> Response = {
        .file(Resource(Content(bytes), etag: "\"1\""), for: $0)
    }

    /// A resource that its server names after its path.
    private static func named(_ text: String, _ path: String) -> Resource {
        var resource = Resource(Content(text), etag: "\"\(text)\"")
        resource.extraFields = [("Content-Disposition", "attachment; filename=\"named\(path.dropFirst()).bin\"")]
        return resource
    }

    private static func sha256(_ bytes: [UInt8]) -> String { HTTPDigest(.sha256, of: bytes)?.hexadecimal ?? "" }

    private func get(_ server: OriginServer, _ arguments: String..., path: String = "/f.bin") async -> Outcome {
        await home.run(["get", server.url(path), "-P", home.path] + arguments)
    }

    @Test("A file that no run has delivered is not replaced if the URL chose its name, and the ways on are named")
    func foreign() async throws {
        let server = try await home.serve(Self.handler)
        try home.write("mine".utf8, to: "f.bin")
        let refused = await get(server).expect(.cannotCreate)
        for way in ["--overwrite", "--auto-rename", "-o", "--from"] { #expect(refused.message.contains(way)) }
        #expect(try home.bytes("f.bin") == Array("mine".utf8))
        // The head is enough, since the length differs.
        #expect(server.requests.count == 1)
        #expect(await home.run("list").output.isEmpty)
        // Each way leads on.
        let renamed = await get(server, "--auto-rename")
        #expect(renamed.status == .success && renamed.output == home["f.1.bin"] + "\n", "\(renamed)")
        #expect(try home.bytes("f.1.bin") == Self.bytes && home.bytes("f.bin") == Array("mine".utf8))
        await get(server, "--overwrite").expect(.success, says: "replaced the file that was there")
        #expect(try home.bytes("f.bin") == Self.bytes)
        // It is this program's file from now on.
        server.setHandler { .file(Resource(Content("new"), etag: "\"2\""), for: $0) }
        await get(server).expect(.success)
        #expect(try home.bytes("f.bin") == Array("new".utf8))
        let again = await get(server, "--restart")
        #expect(again.status == .success && again.errors.hasSuffix("f.bin: done, 3 B\n"), "\(again)")
        // Changed since.
        try home.write("edited".utf8, to: "f.bin")
        await get(server).expect(.cannotCreate)
        let named = await home.run("get", server.url("/f.bin"), "-o", home["f.bin"])
        #expect(named.status == .success && named.errors.contains("replaced the file that was there"), "\(named)")
        #expect(try home.bytes("f.bin") == Array("new".utf8))
    }

    @Test("A part does not replace the whole that was delivered, and a part is replaced by its next version")
    func part() async throws {
        let server = try await home.serve(Self.handler)
        await get(server).expect(.success)
        for range in ["0-9", "5-", "-4"] {
            await get(server, "--range", range).expect(.cannotCreate)
            #expect(try home.bytes("f.bin") == Self.bytes)
        }
        try home.remove("f.bin")
        await get(server, "--range", "0-9").expect(.success)
        server.setHandler { .file(Resource(Content("0123456789, and more"), etag: "\"2\""), for: $0) }
        await get(server, "--range", "0-9").expect(.success)
        #expect(try home.bytes("f.bin") == Array("0123456789".utf8))
        await get(server).expect(.success)
        #expect(try home.bytes("f.bin") == Array("0123456789, and more".utf8))
    }

    @Test(
        "A file of the user with the size and time of a delivered one is compared, and not replaced",
        arguments: [true, false])
    func sameSizeAndTime(isBackup: Bool) async throws {
        let server = try await home.serve(Self.handler)
        await get(server).expect(.success)
        let time = try FileManager.default.attributesOfItem(atPath: home["f.bin"])[.modificationDate]
        try FileManager.default.moveItem(atPath: home["f.bin"], toPath: home["moved"])
        let bytes = isBackup ? Self.bytes : Self.bytes.reversed()
        try home.write(bytes, to: "f.bin")
        try FileManager.default.setAttributes([.modificationDate: time ?? Date()], ofItemAtPath: home["f.bin"])
        if !isBackup { server.setHandler { .file(Resource(Content("new"), etag: "\"2\""), for: $0) } }
        await get(server).expect(isBackup ? .success : .cannotCreate)
        #expect(try home.bytes("f.bin") == bytes)
        if isBackup { #expect(await get(server).errors.contains("unchanged on the server")) }
    }

    @Test(
        "A delivered file is not unchanged where its URL leads to another resource with the same tag and length",
        arguments: [true, false])
    func otherResource(isConditional: Bool) async throws {
        let target = Mutex("/1/f.bin")
        let server = try await home.serve { request in
            guard request.path != "/f.bin" else {
                return .status("302 Found", fields: [("Location", target.withLock { $0 })])
            }
            let bytes = Array("the bytes of \(request.path)".utf8)
            let fields = [("ETag", "\"s\"")]
            return isConditional
                ? .file(Resource(Content(bytes), etag: "\"s\""), for: request)
                : .status("200 OK", fields: fields, body: bytes)
        }
        await get(server).expect(.success)
        await get(server).expect(says: "unchanged on the server")
        target.withLock { $0 = "/2/f.bin" }
        await get(server).expect(.success, hides: "unchanged")
        #expect(try home.bytes("f.bin") == Array("the bytes of /2/f.bin".utf8))
        await get(server).expect(says: "unchanged on the server")
    }

    @Test(
        "A delivered file is unchanged where mirrors take turns, and fetched where they refuse ranges",
        arguments: [true, false])
    func mirrors(sendRanges: Bool) async throws {
        let turn = Mutex(0)
        let file = Resource(Content(length: 300_000, seed: 1), etag: "\"s\"")
        let handler: @Sendable (OriginRequest) -> Response = { request in
            guard request.path == "/f.bin" else {
                let isRefused = !sendRanges && request.field("Range") != nil
                return isRefused ? .status("500 Internal Server Error") : .file(file, for: request)
            }
            let number = turn.withLock { number in
                number += 1
                return number
            }
            return .status("302 Found", fields: [("Location", "/\(number)/f.bin")])
        }
        try await OriginServer.withServer(handler: handler) { server async throws in
            await get(server).expect(.success)
            for _ in 0..<2 {
                let again = await get(server).expect(.success)
                #expect(again.errors.contains("unchanged on the server") == sendRanges, "\(again)")
            }
            let whole = server.requests.filter { $0.path != "/f.bin" && $0.byteRange == nil }
            guard sendRanges else { return }
            #expect(whole.count == 3 && whole.filter { $0.field("If-None-Match") == nil }.count == 1)
        }
    }

    @Test("--overwrite is also set by the environment, and yields to --auto-rename of the command line")
    func overwriteByDefault() async throws {
        let server = try await home.serve(Self.handler)
        try home.write("mine".utf8, to: "f.bin")
        let environment = ["RESUMECTL_STORE": home.store, "RESUMECTL_OVERWRITE": "true"]
        let get = ["get", server.url("/f.bin"), "-P", home.path]
        await home.run(get + ["--auto-rename"], environment: environment).expect(.success)
        #expect(try home.bytes("f.bin") == Array("mine".utf8) && home.has("f.1.bin"))
        await home.run(get, environment: environment).expect(.success)
        #expect(try home.bytes("f.bin") == Self.bytes)
    }

    @Test("A file with the very bytes of the server is kept and counts as delivered, whatever the store remembers")
    func sameBytes() async throws {
        let server = try await home.serve(Self.handler)
        try home.write(Self.bytes, to: "f.bin")
        let inode = try FileManager.default.attributesOfItem(atPath: home["f.bin"])[.systemFileNumber] as? Int
        #expect(await get(server).expect(.success, says: "already right").output == home["f.bin"] + "\n")
        let now = try FileManager.default.attributesOfItem(atPath: home["f.bin"])[.systemFileNumber] as? Int
        #expect(inode == now)
        #expect(await home.run("list").output.isEmpty)
        // The next run asks with its tag.
        await get(server).expect(says: "unchanged on the server")
        #expect(server.requests.last?.field("If-None-Match") == "\"1\"")
        // A store that was thrown away makes nobody a stranger.
        try home.remove("store")
        await get(server).expect(.success)
    }

    @Test(
        "The first byte that differs from a file of the same length ends the download",
        arguments: [0, 150_000, 299_999])
    func firstDifference(offset: Int) async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url("/a"), "-o", home["a"]).expect(.success)
        var bytes = try home.bytes("a")
        bytes[offset] ^= 1
        try home.write(bytes, to: "f.bin")
        let refused = await get(server).expect(.cannotCreate)
        #expect(refused.message.contains("differs from the server's file at byte \(offset)"), "\(refused)")
        #expect(try home.bytes("f.bin") == bytes)
    }

    @Test("What is stored of a file that differs is not continued")
    func resumedDifference() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url("/a"), "-o", home["a"]).expect(.success)
        var bytes = try home.bytes("a")
        bytes[0] ^= 1
        try home.write(bytes, to: "f.bin")
        await get(server).expect(.cannotCreate)
        let stored = try await home.run("list", "--json").json.first?["receivedBytes"]
        #expect(stored != nil)
        for _ in 0..<3 {
            let resumed = await home.run("resume")
            #expect(resumed.message.contains("differs from the server's file at byte 0"), "\(resumed)")
            #expect(try await home.run("list", "--json").json.first?["receivedBytes"] == stored)
        }
    }

    @Test("Of a file above 64 MiB, samples are compared, and one line offers --from", arguments: [true, false])
    func large(isSame: Bool) async throws {
        // Zeros, on both sides; the server's content is one repeated part.
        let length: Int64 = 65 << 20
        try home.write([UInt8](), to: "f.bin")
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home["f.bin"]))
        try file.truncate(atOffset: UInt64(length))
        try file.close()
        let bytes = [UInt8](repeating: isSame ? 0 : 1, count: Int(length))
        let resource = Resource(Content(bytes), etag: "\"1\"")
        let server = try await home.serve { .file(resource, for: $0) }
        let refused = await get(server).expect(.cannotCreate)
        #expect(refused.errors.contains("--from") == isSame, "\(refused)")
        #expect(refused.errors.contains(isSame ? "samples of it agree" : "differs from the server's file"))
        #expect(server.requests.dropFirst().allSatisfy { $0.field("Range") != nil })
        // The first response is closed at its head, but for what is on its way.
        #expect(server.bodyBytesSent < 32 << 20)
        #expect(await home.run("list").output.isEmpty)
    }

    @Test("With a digest, the right file in place needs no request, and a wrong one of another origin is refused")
    func digestInPlace() async throws {
        let digest = Self.sha256(Self.bytes)
        let server = try await home.serve(Self.handler)
        try home.write(Self.bytes, to: "f.bin")
        await get(server, "--sha256", digest).expect(.success, says: "already right")
        #expect(try await get(server, "--sha256", digest, "--json").object["reason"]?.string == "right")
        await get(server, "--sha256", digest).expect(says: "unchanged, checked on 20")
        #expect(server.requests.isEmpty)
        try home.write("mine".utf8, to: "g.bin")
        let wrong = await get(server, "--sha256", digest, path: "/g.bin")
        #expect(wrong.status == .cannotCreate && wrong.message.contains("expected digest"), "\(wrong)")
        #expect(server.requests.isEmpty)
    }

    @Test(
        "A file with the digest that is named is not read again, however it was delivered",
        arguments: [100, 2_000_000] as [Int64])
    func provedOnce(length: Int64) async throws {
        let resource = Resource(Content(length: length, seed: 3), etag: "\"3\"")
        let digest = Self.sha256(resource.bytes)
        let server = try await home.serve { .file(resource, for: $0) }
        await get(server, "--sha256", digest).expect(.success)
        await get(server, "--sha256", digest).expect(says: "unchanged, checked on 20")
        // As after a copy to another disk and back: it is read once.
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: home["f.bin"])
        await get(server, "--sha256", digest).expect(says: "already right, digest verified")
        await get(server, "--sha256", digest).expect(says: "unchanged, checked on 20")
        #expect(server.requests.count == 1)
    }

    @Test("A delivered file whose digest is named later is still asked for with its validator when none is named again")
    func digestNamedLater() async throws {
        let server = try await home.serve(Self.handler)
        await get(server).expect(.success)
        for _ in 0..<2 { #expect(await get(server, "--sha256", Self.sha256(Self.bytes)).status == .success) }
        #expect(server.requests.count == 1)
        await get(server).expect(says: "unchanged on the server")
        #expect(server.requests.last?.field("If-None-Match") == "\"1\"")
        // The digest that was proved is still known.
        await home.run("verify", home["f.bin"]).expect(prints: "SHA-256 verified")
    }

    @Test(
        "A delivered file with other bytes but the same size and time is damaged, and is replaced",
        arguments: [true, false])
    func damagedInPlace(isList: Bool) async throws {
        let server = try await home.serve(Self.handler)
        try home.write("\(Self.sha256(Self.bytes))  f.bin\n".utf8, to: "sums")
        try home.write(server.url("/f.bin").utf8, to: "list")
        let get =
            isList
            ? ["get", "-i", home["list"], "-P", home.path, "--checksums", home["sums"]]
            : ["get", server.url("/f.bin"), "-P", home.path, "--sha256", Self.sha256(Self.bytes)]
        await home.run(get).expect(.success)
        // Proved at the delivery.
        await home.run(get).expect(says: "unchanged, checked on 20")
        #expect(server.requests.count == 1)
        let time = try FileManager.default.attributesOfItem(atPath: home["f.bin"])[.modificationDate]
        var bytes = Self.bytes
        bytes[3] ^= 1
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home["f.bin"]))
        try file.write(contentsOf: bytes)
        try file.close()
        try FileManager.default.setAttributes([.modificationDate: time ?? Date()], ofItemAtPath: home["f.bin"])
        await home.run("verify", home["f.bin"]).expect(.damaged, prints: "found")
        await home.run(get).expect(.success, says: "replaced the damaged file")
        #expect(server.requests.count == 2 && server.requests.last?.field("If-None-Match") == nil)
        #expect(try home.bytes("f.bin") == Self.bytes)
        await home.run("verify", home["f.bin"]).expect(.success)
    }

    @Test("--auto-rename numbers against the files on disk, and finds its own file again")
    func numberedAgainstDisk() async throws {
        let server = try await home.serve { .file(Resource(Content($0.path), etag: "\"1\""), for: $0) }
        for _ in 0..<2 {
            for (folder, name) in [("a", "f.bin"), ("b", "f.1.bin"), ("c", "f.2.bin")] {
                let outcome = await get(server, "--auto-rename", path: "/\(folder)/f.bin")
                #expect(outcome.status == .success && outcome.output == home[name] + "\n", "\(outcome)")
                #expect(try home.bytes(name) == Array("/\(folder)/f.bin".utf8))
            }
        }
        #expect(server.requests.suffix(3).allSatisfy { $0.field("If-None-Match") == "\"1\"" })
    }

    @Test("A command says that it takes the destination of an unfinished download")
    func rivals() async throws {
        let url = try await home.leavePartial("a.bin", options: [])
        let server = try await home.serve(Self.handler)
        let outcome = await home.run("get", server.url("/b.bin"), "-o", home["a.bin"]).expect(.success)
        #expect(outcome.message.contains("also the destination of the unfinished download of \(url)"), "\(outcome)")
    }

    @Test("A list that is cut and run again with -J finds its files under the names that the server has given them")
    func serverNamesAgain() async throws {
        let cuts = Mutex(true)
        let server = try await home.serve { request in
            if request.path == "/2", cuts.withLock({ $0 }) { return .status("503 Unavailable") }
            return .file(Self.named(request.path, request.path), for: request)
        }
        try home.write("\(server.url("/1"))\n\(server.url("/2"))\n".utf8, to: "list")
        let get = ["get", "-J", "-i", home["list"], "-P", home.path, "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        #expect(home.has("named1.bin"))
        cuts.withLock { $0 = false }
        await home.run(get).expect(.success)
        #expect(server.requests.filter { $0.path == "/1" }.last?.field("If-None-Match") == "\"/1\"")
        // A new version replaces this program's file, and no other one.
        server.setHandler { .file(Self.named("new", $0.path), for: $0) }
        try home.write("mine".utf8, to: "named2.bin")
        await home.run(get).expect(.cannotCreate)
        #expect(try home.bytes("named1.bin") == Array("new".utf8) && home.bytes("named2.bin") == Array("mine".utf8))
    }

    @Test(
        "A name that a URL of a list chooses is never hidden and begins with no dash", arguments: ["/.bashrc", "/-rf"])
    func unsafeNames(path: String) async throws {
        let server = try await home.serve(Self.handler)
        try home.write("\(server.url(path))\n\(server.url("/f.bin"))\n".utf8, to: "list")
        let outcome = await home.run("get", "-i", home["list"], "-P", home.path)
        #expect(outcome.status == .refused && outcome.message.contains("--output"), "\(outcome)")
        #expect(try home.names() == ["f.bin", "list", "store"])
        #expect(server.requests.count == 1)
        await home.run("get", server.url(path), "-o", home[String(path.dropFirst())]).expect(.success)
    }

    @Test("Two names of one file, as in a folder that ignores case, are a clash", arguments: [20, 2_000_000])
    func sameFile(length: Int64) async throws {
        let (first, second) = (home["Readme.bin"], home["README.bin"])
        let server = try await home.serve { request in
            // After the second download has looked for its file. The first one may still wait for its delivery.
            let end = ContinuousClock.now + .seconds(60)
            while request.path == "/README.bin", ContinuousClock.now < end {
                if (try? FileManager.default.linkItem(atPath: first, toPath: second)) != nil { break }
            }
            let seed: UInt64 = request.path == "/README.bin" ? 1 : 2
            return .file(Resource(Content(length: length, seed: seed), etag: "\"\(seed)\""), for: request)
        }
        let urls = [server.url("/Readme.bin"), server.url("/README.bin")]
        let outcome = await home.run(["get", "-P", home.path, "--max-concurrent", "1"] + urls).expect(.cannotCreate)
        #expect(outcome.message.contains("it has appeared"))
        #expect(Content(length: length, seed: 2).matches(try home.bytes("Readme.bin")))
        #expect(Content(length: length, seed: 2).matches(try home.bytes("README.bin")))
    }

    @Test(
        "In a folder that ignores case, the second of two names is a clash or gets a number, even with --overwrite",
        arguments: [(option: "--overwrite", isNumbered: false), ("--auto-rename", true), ("--verbose", false)])
    func otherCase(option: String, isNumbered: Bool) async throws {
        let server = try await home.serve(Self.handler)
        let errors = Mutex("")
        var context = CommandContext(
            output: { _ in }, errors: { text in errors.withLock { $0 += text } },
            environment: ["RESUMECTL_STORE": home.store])
        context.ignoresCase = { _ in true }
        let urls = ["/Readme.bin", "/README.bin"].map { server.url($0) }
        let status = await ResumeCtl.run(["get", "-P", home.path, option] + urls, in: context)
        #expect(status == (isNumbered ? .success : .cannotCreate), "\(errors.withLock { $0 })")
        #expect(errors.withLock { $0.contains("as would \(urls[0]) (argument ") } != isNumbered)
        #expect(try home.names() == (isNumbered ? ["Readme.1.bin"] : []) + ["Readme.bin", "store"])
    }

    @Test("A file that appears during the download is replaced if the user has named it with -o, which is said")
    func appearedDuring() async throws {
        let path = home["f.bin"]
        let server = try await home.serve { request in
            _ = FileManager.default.createFile(atPath: path, contents: Data("appeared".utf8))
            return Self.handler(request)
        }
        for _ in 0..<2 {
            await home.run("get", server.url("/f.bin"), "-o", path, "--restart")
                .expect(.success, says: "replaced the file that was there")
            #expect(try home.bytes("f.bin") == Self.bytes)
        }
        // Without -o, it is not.
        try home.remove("f.bin")
        await get(server).expect(.cannotCreate)
    }

    @Test(
        "A link that -o names is replaced, which is said, and the file that it leads to stays",
        arguments: [true, false])
    func link(isBroken: Bool) async throws {
        let server = try await home.serve(Self.handler)
        if !isBroken { try home.write("mine".utf8, to: "target") }
        try FileManager.default.createSymbolicLink(atPath: home["f.bin"], withDestinationPath: home["target"])
        // Not if the URL chooses the name, so that it is not replaced.
        await get(server).expect(.cannotCreate, hides: "is a link")
        let outcome = await home.run("get", server.url("/f.bin"), "-o", home["f.bin"]).expect(.success)
        #expect(
            outcome.errors.split(separator: "\n") == [
                "\(home["f.bin"]) is a link, which is replaced; --follow-links writes to where it leads",
                "\(home["f.bin"]): done, 46 B, replaced the symbolic link that was there",
            ])
        #expect(try home.bytes("f.bin") == Self.bytes)
        #expect(try isBroken ? !home.has("target") : home.bytes("target") == Array("mine".utf8))
    }

    @Test("--auto-rename gives no number where an unknown file has the digest that is named")
    func rightForAutoRename() async throws {
        let server = try await home.serve(Self.handler)
        try home.write(Self.bytes, to: "f.bin")
        let right = await get(server, "--auto-rename", "--sha256", Self.sha256(Self.bytes))
        #expect(right.status == .success && server.requests.isEmpty && !home.has("f.1.bin"), "\(right)")
        // Another one gets a number.
        try home.write("other".utf8, to: "f.bin")
        let renamed = await get(server, "--auto-rename", "--sha256", Self.sha256(Self.bytes))
        #expect(renamed.status == .success && home.has("f.1.bin"), "\(renamed)")
    }

    @Test("More than three files that are not replaced end with one summary")
    func summary() async throws {
        let server = try await home.serve(Self.handler)
        var urls: [String] = []
        for number in 0..<4 {
            try home.write("mine".utf8, to: "\(number).bin")
            urls.append(server.url("/\(number).bin"))
        }
        let outcome = await home.run(["get", "-P", home.path] + urls).expect(.cannotCreate)
        #expect(outcome.message.contains("4 files are kept as they are"), "\(outcome)")
    }

    @Test("What appears at a destination that the user has named is not replaced by resume")
    func appeared() async throws {
        let bytes = Array("appeared".utf8)
        let server = try await home.serve(Sample.cutOnce)
        try home.write("old".utf8, to: "a.bin")
        await home.run("get", server.url(), "-o", home["a.bin"], "--retries", "0").expect(.tryAgain)
        try home.write(bytes, to: "a.bin")
        await home.run("resume").expect(.cannotCreate)
        #expect(try home.bytes("a.bin") == bytes)
        // Named again, it may be replaced.
        await home.run("get", server.url(), "-o", home["a.bin"]).expect(.success)
    }

    @Test("history, show, verify and purge know the files that were delivered")
    func history() async throws {
        let server = try await home.serve(Self.handler)
        let digest = Self.sha256(Self.bytes)
        await home.run("history").expect(.success)
        await get(server, "--sha256", digest).expect(.success)
        await get(server, path: "/g.bin?token=S3CRET").expect(.success)
        let history = await home.run("history", "--json")
        let files = try history.json
        #expect(files.map { $0["path"]?.string } == [home["f.bin"], home["g.bin"]])
        #expect(files.first?["sha256"]?.string == digest && files.last?["sha256"]?.string == nil)
        #expect(!history.output.contains("S3CRET"))
        #expect(try await home.run("history", "--json", "--match", "*g.bin").json.count == 1)
        #expect(await home.run("history", "--since", "2999-01-01").output.isEmpty)
        #expect(await home.run("history").lines.count == 2)
        await home.run("show", home["f.bin"]).expect(.success, prints: "unchanged", digest)
        let object = try await home.run("show", home["f.bin"], "--json").object
        #expect(object["path"]?.string == home["f.bin"] && object["state"]?.string == "unchanged")
        await home.run("verify", home["f.bin"]).expect(prints: "SHA-256 verified")
        await home.run("purge", home["f.bin"]).expect(.success, says: "was delivered")
        #expect(home.has("f.bin"))
        // Neither forget nor a file that is gone removes a record.
        await home.run("forget", "--all")
        try home.remove("g.bin")
        #expect(await home.run("history").lines.count == 2)
        await home.run("show", home["g.bin"]).expect(prints: "no longer there")
        #expect(try await home.run("show", home["g.bin"], "--json").object["state"]?.string == "missing")
        await get(server).expect(.success)
    }

    @Test("verify compares files with a list of checksums, without a store and without a network")
    func verifyFiles() async throws {
        try home.write(Self.bytes, to: "a.bin")
        try home.write("other".utf8, to: "b.bin")
        try home.write("\(Self.sha256(Self.bytes))  a.bin\n\(Self.sha256(Self.bytes))  b.bin\n".utf8, to: "sums")
        await home.run("verify", home["a.bin"], "--checksums", home["sums"]).expect(.success)
        let outcome = await home.run("verify", home["a.bin"], home["b.bin"], "--checksums", home["sums"])
        #expect(outcome.status == .damaged && outcome.lines.count == 2, "\(outcome)")
        #expect(await home.run("verify", home["c.bin"], "--checksums", home["sums"]).status != .success)
        #expect(!home.has("store"))
    }

    @Test(
        "A delivered file is ours, and is asked for without a date that proves nothing",
        arguments: [
            [("Last-Modified", "")],
            [("Last-Modified", "Sun, 29 Nov 2026 10:00:00 GMT"), ("Date", "Sun, 29 Nov 2026 10:00:00 GMT")],
        ])
    func uselessDates(fields: [(String, String)]) async throws {
        let content = Mutex("first")
        let server = try await home.serve { _ in
            .status("200 OK", fields: fields, body: Array(content.withLock { $0 }.utf8))
        }
        let get = ["get", server.url("/a.bin"), "-P", home.path]
        await home.run(get).expect(.success)
        content.withLock { $0 = "second version" }
        await home.run(get).expect(.success)
        #expect(try home.bytes("a.bin") == Array("second version".utf8))
        #expect(server.requests.allSatisfy { $0.field("if-modified-since") == nil })
    }

    @Test("A run that may replace any file keeps the record of the one that was delivered")
    func namedAgain() async throws {
        let server = try await home.serve(Self.handler)
        let named = ["get", "-o", home["f.bin"], server.url("/f.bin")]
        for _ in 0..<3 { #expect(await home.run(named).status == .success) }
        await home.run("history").expect(prints: "f.bin")
        // Also for another URL, which may replace what was delivered.
        let other = ["get", "-P", home.path, "--overwrite", server.url("/other/f.bin")]
        await home.run(other).expect(.success)
        await get(server, path: "/third/f.bin").expect(.success)
    }

    @Test("A destination that is a folder does not stop the other downloads")
    func folderInList() async throws {
        try FileManager.default.createDirectory(atPath: home["a.bin/inside"], withIntermediateDirectories: true)
        let server = try await home.serve(Self.handler)
        let outcome = await home.run(["get", server.url("/a.bin"), server.url("/b.bin"), "-P", home.path])
        #expect(outcome.status != .success && outcome.message.contains("it is a folder"), "\(outcome)")
        try home.write(server.url("/c.bin").utf8, to: "list")
        let list = await home.run(["get", server.url("/a.bin"), "-i", home["list"], "-P", home.path])
        #expect(list.status != .success && home.has("c.bin"), "\(list)")
        #expect(home.has("b.bin") && home.has("a.bin/inside"))
    }
}
