import Foundation
import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// Downloads that the store remembers: `resume`, `jobs`, `cancel`, `forget`, and lists that are run again.
@Suite(.timeLimit(.minutes(20)))
struct JobsTests {
    private let home = Home()

    private static func content(_ path: String) -> Content { Content("the bytes of \(path)") }

    /// Serves other bytes under each path.
    private static let handler: @Sendable (OriginRequest) -> Response = { request in
        .file(Resource(content(request.path), etag: "\"\(request.path)\""), for: request)
    }

    /// Serves like ``handler``, but refuses one path for now.
    private static func failing(_ path: String, _ status: String = "503 Unavailable")
        -> @Sendable (OriginRequest)
        -> Response
    {
        { $0.path == path ? .status(status) : handler($0) }
    }

    private func list(_ server: OriginServer, _ paths: [String]) throws -> [String] {
        try home.write(paths.map { server.url($0) }.joined(separator: "\n").utf8, to: "list.txt")
        return ["get", "-i", home["list.txt"], "-P", home.path, "--retries", "0", "--stall-timeout", "900"]
    }

    @Test("Two jobs of one URL wait neither for each other's place nor for each other's bytes", arguments: 1...5)
    func sameResource(round: Int) async throws {
        let server = try await home.serve { _ in .status("503 Unavailable") }
        let url = server.url("/\(round).bin")
        for name in ["one", "two"] {
            await home.run("get", url, "-o", home[name], "--retries", "0").expect(.tryAgain)
        }
        server.setHandler(Self.handler)
        await home.run("resume", "-j", "1").expect(.success)
        for name in ["one", "two"] { #expect(Self.content("/\(round).bin").matches(try home.bytes(name))) }
    }

    @Test("A list is asked for again as a whole, also if one of its files has failed: those in place may have changed")
    func listAgain() async throws {
        let server = try await home.serve(Self.failing("/b.bin"))
        let get = try list(server, ["/a.bin", "/b.bin", "/c.bin"])
        // One at a time: a refusal beside other requests may mean that there are too many.
        await home.run(get + ["-j", "1"]).expect(.tryAgain)
        #expect(server.requests.count == 3)
        server.setHandler(Self.handler)
        await home.run(get).expect(.success, says: "a.bin: unchanged on the server")
        #expect(server.requests.dropFirst(3).map(\.path).sorted() == ["/a.bin", "/b.bin", "/c.bin"])
        let third = await home.run(get + ["--json"]).expect(.success)
        let conditional = server.requests.dropFirst(6)
        #expect(conditional.map(\.path).sorted() == ["/a.bin", "/b.bin", "/c.bin"])
        #expect(conditional.allSatisfy { $0.field("If-None-Match") == "\"\($0.path)\"" })
        #expect(try third.json.map { $0["reason"]?.string } == ["unchanged", "unchanged", "unchanged"])
        let bytes = server.bodyBytesSent
        server.setHandler { request in
            .file(Resource(Content("new \(request.path)"), etag: "\"new\(request.path)\""), for: request)
        }
        await home.run(get).expect(.success)
        #expect(server.bodyBytesSent > bytes)
        #expect(try home.bytes("c.bin") == Array("new /c.bin".utf8))
        let count = server.requests.count
        let skipping = await home.run(get + ["--skip-existing"]).expect(.success)
        #expect(server.requests.count == count)
        let paths = ["a.bin", "b.bin", "c.bin"].map { home[$0] }
        #expect(skipping.output.split(separator: "\n").map(String.init) == paths, "\(skipping.output)")
        let unchanged = await home.run(get).output.split(separator: "\n").map(String.init)
        #expect(unchanged.sorted() == paths, "a script that asks for the path gets it, also of an unchanged file")
    }

    @Test("A delivered file that was removed is fetched again, and one that was changed is kept and refused")
    func changedFile() async throws {
        let server = try await home.serve(Self.failing("/c.bin"))
        let get = try list(server, ["/a.bin", "/b.bin", "/c.bin"])
        await home.run(get).expect(.tryAgain)
        try home.write("edited".utf8, to: "a.bin")
        try home.remove("b.bin")
        await home.run(get).expect(.cannotCreate)
        #expect(try home.bytes("a.bin") == Array("edited".utf8))
        #expect(Self.content("/b.bin").matches(try home.bytes("b.bin")))
        // Without a condition, since the file is not in place.
        #expect(server.requests.allSatisfy { $0.field("If-None-Match") == nil })
    }

    @Test("resume continues what is not done, or what is named")
    func resume() async throws {
        await home.run("resume").expect(.success)
        #expect(!home.has("store"))
        let server = try await home.serve { _ in
            .status("503 Unavailable")
        }
        let get = try list(server, ["/a.bin", "/b.bin", "/c.bin"])
        await home.run(get).expect(.tryAgain)
        let jobs = try await home.run("jobs", "--json").json
        #expect(jobs.map { $0["state"]?.string } == ["waiting", "waiting", "waiting"])
        #expect(jobs.map { $0["destination"]?.string } == ["a", "b", "c"].map { home["\($0).bin"] })
        #expect(jobs.allSatisfy { $0["attempts"]?.integer == 1 && $0["reason"]?.string != nil })
        let names = [
            "attempts", "destination", "id", "key", "message", "needs", "reason", "receivedBytes", "state",
            "totalBytes", "url",
        ]
        #expect(jobs.allSatisfy { $0.keys == names })
        server.setHandler(Self.handler)
        let count = server.requests.count
        await home.run("resume", server.url("/b.bin")).expect(.success)
        await home.run("resume", home["c.bin"]).expect(.success)
        #expect(server.requests.dropFirst(count).map(\.path) == ["/b.bin", "/c.bin"])
        await home.run("resume", "no such job").expect(.notFound)
        #expect(try await home.run("resume", "--json").expect(.success).events.last == "finished")
        for name in ["a", "b", "c"] {
            #expect(Self.content("/\(name).bin").matches(try home.bytes("\(name).bin")))
        }
        #expect(await home.run("jobs").output.isEmpty)
        let all = try await home.run("jobs", "--all", "--json").json
        #expect(all.map { $0["state"]?.string } == ["done", "done", "done"])
    }

    @Test("A job that failed permanently says why, and its status is that of get")
    func failed() async throws {
        let server = try await home.serve { _ in
            .status("404 Not Found")
        }
        await home.run("get", "-P", home.path, server.url("/a.bin")).expect(.refused)
        let job = try await home.run("jobs", "--json").object
        #expect(job["state"]?.string == "failed" && job["message"]?.string?.contains("404") == true)
        await home.run("resume").expect(.success)
        await home.run("resume", home["a.bin"]).expect(.refused)
        await home.run("forget", "--all").expect(.success)
        #expect(await home.run("jobs", "--all").output.isEmpty)
    }

    @Test("A download that delivers a file ends earlier attempts for the same path, but no others")
    func superseded() async throws {
        let server = try await home.serve(Self.failing("/typo.bin", "404 Not Found"))
        for name in ["a.bin", "other.bin"] {
            await home.run("get", server.url("/typo.bin"), "-o", home[name]).expect(.refused)
        }
        await home.run("get", server.url("/a.bin"), "-o", home["a.bin"]).expect(.success)
        let left = await home.run("jobs", "--json")
        #expect(try left.object["destination"]?.string == home["other.bin"], "\(left.output)")
        let count = server.requests.count
        await home.run("resume", home["other.bin"]).expect(.refused)
        #expect(server.requests.count == count + 1)
        #expect(try home.bytes("a.bin") == Self.content("/a.bin").bytes(in: Self.content("/a.bin").all))
    }

    @Test("A name that the server has chosen ends no other job")
    func namedByServer() async throws {
        let server = try await home.serve { request in
            guard request.target == "/other" else { return .status("503 Unavailable") }
            var file = Resource(Content("other"))
            file.extraFields = [("Content-Disposition", "attachment; filename=\"image.iso\"")]
            return .file(file, for: request)
        }
        let get = ["get", "-P", home.path, "--retries", "0"]
        await home.run(get + [server.url("/image.iso")]).expect(.tryAgain)
        await home.run(get + ["-J", server.url("/other")]).expect(.success)
        #expect(try home.bytes("image.iso") == Array("other".utf8))
        let left = await home.run("jobs", "--json")
        #expect(try left.object["destination"]?.string == home["image.iso"], "\(left.output)")
    }

    @Test("Secrets are named in the store, and given again")
    func secrets() async throws {
        let isOpen = Mutex(false)
        let server = try await home.serve { request in
            guard isOpen.withLock({ $0 }) else { return .status("503 Unavailable") }
            let isKnown = request.field("Authorization") == "Bearer hidden" || request.target.hasSuffix("sig=hidden")
            return isKnown ? Self.handler(request) : .status("401 Unauthorized")
        }
        let signed = server.url("/b.bin?X-Amz-Signature=hidden&sig=hidden")
        for arguments in [["-H", "Authorization: Bearer hidden", server.url("/a.bin")], [signed]] {
            await home.run(["get", "-P", home.path, "--retries", "0"] + arguments).expect(.tryAgain)
        }
        #expect(!String(decoding: try home.storedBytes(), as: UTF8.self).contains("hidden"))
        isOpen.withLock { $0 = true }
        let count = server.requests.count
        await home.run("resume")
            .expect(.refused, says: "needs the header field Authorization", "needs the complete URL")
        #expect(server.requests.count == count)
        let one = await home.run("resume", "-H", "Authorization: Bearer hidden")
        #expect(one.status == .refused, "the other one still needs its URL")
        #expect(home.has("a.bin"))
        await home.run("resume", signed).expect(.success)
        #expect(home.has("b.bin"))
    }

    @Test("A field that jobs of several servers need is sent to none of them, unless the job is named")
    func otherServer() async throws {
        let down: @Sendable (OriginRequest) -> Response = { _ in .status("503 Unavailable") }
        let first = try await home.serve(down)
        let second = try await home.serve(down)
        for (server, name) in [(first, "a.bin"), (second, "b.bin")] {
            let secret = ["-H", "Authorization: Bearer \(name)", server.url("/\(name)")]
            await home.run(["get", "-P", home.path, "--retries", "0"] + secret).expect(.tryAgain)
            // The one of the other server is behind many of this one.
            if server === first { try await home.plantJobs(600) }
        }
        for server in [first, second] { server.setHandler(Self.handler) }
        for options in [["-H", "Authorization: Bearer b.bin"], ["-u", "me:hidden"]] {
            let refused = await home.run(["resume"] + options)
            #expect(refused.status == .usage, "\(refused.errors)")
            #expect(refused.errors.contains("jobs of several servers need Authorization"), "\(refused.errors)")
            #expect(refused.errors.contains(":\(first.port) and http://127.0.0.1:\(second.port). Name the jobs"))
            #expect(first.requests.count == 1 && second.requests.count == 1)
        }
        let named = await home.run("resume", home["b.bin"], "-H", "Authorization: Bearer b.bin")
        #expect(named.status == .success && home.has("b.bin"), "\(named.errors)")
        #expect(first.requests.count == 1)
        // Now the jobs of one server are left.
        let rest = await home.run("resume", "-q", "-H", "Authorization: Bearer a.bin")
        #expect(rest.status == .success && home.has("a.bin") && home.has("a.bin600"), "\(rest.errors)")
        #expect(second.requests.allSatisfy { $0.field("Authorization") == "Bearer b.bin" })
    }

    @Test("cancel excludes a job from resume, and forget removes it")
    func cancel() async throws {
        let server = try await home.serve { _ in
            .status("503 Unavailable")
        }
        await home.run(try list(server, ["/a.bin", "/b.bin"])).expect(.tryAgain)
        await home.run("cancel").expect(.usage)
        await home.run("cancel", server.url("/a.bin")).expect(.success)
        await home.run("forget", home["b.bin"], "--dry-run").expect(.success, says: "would be forgotten: ")
        await home.run("forget", home["b.bin"]).expect(.success)
        await home.run("forget", home["b.bin"]).expect(.notFound)
        server.setHandler(Self.handler)
        let count = server.requests.count
        await home.run("resume").expect(.success)
        #expect(server.requests.count == count)
        #expect(try await home.run("jobs", "--all", "--json").object["state"]?.string == "cancelled")
        await home.run("resume", server.url("/a.bin")).expect(.success)
        #expect(home.has("a.bin"))
    }

    @Test("Jobs are named by parts of their names; a terminal shows a table")
    func names() async throws {
        #expect(await home.run("jobs", outputWidth: 80).output == "no unfinished downloads\n")
        let url = try await home.leavePartial("one.bin")
        try await home.leavePartial("two.bin")
        // Without the rows about failures.
        let table = await home.run("jobs", outputWidth: 120).lines.filter { !$0.hasPrefix("  ") }
        #expect(table.count == 4 && table[0].hasPrefix("FILE ") && table[0].contains("  STATE  "), "\(table)")
        let row = table[1]
        #expect(row.hasPrefix("one.bin ") && row.contains("  stopped    195.3 KiB of 293.0 KiB  "), "\(table)")
        #expect(table[3].hasPrefix("'resumectl resume' continues what is not done"))
        await home.run("cancel", ".bin")
            .expect(.notFound, says: "several jobs match", "  \(home["one.bin"])\n  \(home["two.bin"])\n")
        let cancel = await home.run("cancel", "one")
        #expect(cancel.errors.hasSuffix("); 195.3 KiB are kept; 'resumectl purge \(url)' removes them\n"))
        #expect(cancel.errors.hasPrefix("cancelled: \(url) (/"))
        await home.run("forget", "three").expect(.notFound)
        // Of several, the one that is not done is meant.
        await home.run("cancel", ".bin").expect(.success)
        #expect(await home.run("jobs", outputWidth: 80).output == "no unfinished downloads\n")
        #expect(await home.run("purge", "two.bin").output.contains("starts over") == false, "its job is cancelled")
    }

    @Test(
        "A part of a name means the job that is left, and is refused if several are, however many are done",
        arguments: [39, 60])
    func partsAmongMany(count: Int) async throws {
        let server = try await home.serve(Self.handler)
        await home.run("get", server.url("/img"), "-o", home["img"]).expect(.success)
        try await home.plantJobs(count, done: true)
        server.setHandler { _ in .status("503 Unavailable") }
        let get = ["get", "--retries", "0", "-P", home.path, server.url("/a.img"), server.url("/b.img")]
        await home.run(get).expect(.tryAgain)
        let several = await home.run("forget", "img").expect(.notFound, says: "several jobs match img")
        #expect(several.errors.hasSuffix(":\n  \(home["a.img"])\n  \(home["b.img"])\n"), "\(several.errors)")
        await home.run("forget", "a.img").expect(.success)
        let last = await home.run("forget", "img")
        #expect(last.errors.hasPrefix("forgotten: \(server.url("/b.img")) (/"), "\(last.errors)")
        await home.run("forget", "img").expect(.notFound, says: "several jobs match img")
    }

    @Test("Of two jobs for one file, only that of the later command is continued", arguments: [[], ["out"]])
    func sameFile(names: [String]) async throws {
        let server = try await home.serve { request in
            .file(request.path == "/a" ? Sample.resource : Sample.changedResource, for: request, cutAfter: Sample.cut)
        }
        for path in ["/a", "/b"] {
            let get = ["get", server.url(path), "-o", home["out"], "--retries", "0"]
            await home.run(get).expect(.tryAgain)
        }
        let count = server.requests.count
        server.setHandler { .file($0.path == "/a" ? Sample.resource : Sample.changedResource, for: $0) }
        await home.run(["resume", "-j", "1"] + names.map { home[$0] }).expect(.success, says: "left out")
        #expect(server.requests.dropFirst(count).map(\.path) == ["/b"])
        #expect(Sample.changed.matches(try home.bytes("out")))
        #expect(await home.run("resume").errors == "nothing to resume\n")
    }

    @Test(
        "A later job for the same file that failed permanently leaves the earlier one out of no run",
        arguments: [[], ["out"]])
    func failedLater(names: [String]) async throws {
        let server = try await home.serve { request in
            request.path == "/a"
                ? .file(Sample.resource, for: request, cutAfter: Sample.cut) : .status("404 Not Found")
        }
        let get = ["get", "-o", home["out"], "--retries", "0"]
        await home.run(get + [server.url("/a")]).expect(.tryAgain)
        await home.run(get + [server.url("/b")]).expect(.refused)
        server.setHandler { $0.path == "/a" ? .file(Sample.resource, for: $0) : .status("404 Not Found") }
        await home.run(["resume"] + names.map { home[$0] }).expect(hides: "\(server.url("/a")): left out")
        #expect(Sample.content.matches(try home.bytes("out")))
    }

    @Test("Of two jobs for one file, that of the later command is continued although the clock was set back")
    func clockSetBack() async throws {
        let server = try await home.serve { request in
            .file(request.path == "/a" ? Sample.resource : Sample.changedResource, for: request, cutAfter: Sample.cut)
        }
        let get = ["get", "-o", home["out"], "--retries", "0"]
        await home.run(get + [server.url("/a")]).expect(.tryAgain)
        // The clock of that run was a day ahead.
        try await home.sql("UPDATE queued SET list = list + 86400000000")
        await home.run(get + [server.url("/b")]).expect(.tryAgain)
        server.setHandler { .file($0.path == "/a" ? Sample.resource : Sample.changedResource, for: $0) }
        await home.run("resume", "-j", "1").expect(.success)
        #expect(Sample.changed.matches(try home.bytes("out")))
        // A number that is as large as they get does not end the program.
        try await home.sql("UPDATE queued SET list = 9223372036854775807, state = 'waiting', ended = NULL")
        await home.run(get + [server.url("/a")]).expect(.success)
    }

    @Test("A job that was refused before its first byte runs only if it is named; what has bytes is continued")
    func refusedBeforeTheFirstByte() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            switch request.path {
            case "/typo.bin": .status("404 Not Found")
            default: .file(Sample.resource, for: request, cutAfter: Sample.cut)
            }
        }
        let server = try await home.serve(handler)
        let get = try list(server, ["/typo.bin", "/kept.bin"])
        await home.run(get).expect(.refused)
        // The second run of the job with bytes is refused, and so is its request without a range.
        server.setHandler { _ in .status("403 Forbidden") }
        await home.run("resume", home["kept.bin"]).expect(.refused)
        let count = server.requests.count
        server.setHandler { $0.path == "/typo.bin" ? .status("404 Not Found") : .file(Sample.resource, for: $0) }
        let resume = await home.run("resume")
        #expect(resume.status == .success && home.has("kept.bin"), "\(resume.errors)")
        #expect(server.requests.dropFirst(count).allSatisfy { $0.path == "/kept.bin" })
        #expect(
            resume.errors.contains(
                "\(server.url("/typo.bin")): left out, since it was refused before anything was received: ")
                && resume.errors.contains("resumectl forget \(home["typo.bin"])"), "\(resume.errors)")
        // It is listed until it is forgotten, and runs if it is named.
        #expect(try await home.run("jobs", "--json").object["state"]?.string == "failed")
        await home.run("resume", "typo.bin").expect(.refused)
        server.setHandler(Self.handler)
        await home.run("resume").expect(.success)
        #expect(!home.has("typo.bin"))
        await home.run("resume", "typo.bin").expect(.success)
        #expect(home.has("typo.bin"))
    }

    @Test("A file with another digest than the named one is fetched again only if the job is named")
    func wrongDigest() async throws {
        let server = try await home.serve(Self.handler)
        let digest = String(repeating: "0", count: 64)
        await home.run("get", "--sha256", digest, server.url("/a.bin"), "-o", home["a.bin"]).expect(.refused)
        let requests = server.requests.count
        let resume = await home.run("resume")
        #expect(resume.status == .refused && server.requests.count == requests, "\(resume)")
        #expect(resume.errors.contains("does not have the expected SHA-256: expected \(digest)"), "\(resume)")
        #expect(resume.errors.contains("It was not fetched again. Name it to try again"), "\(resume)")
        let output = await home.run("resume", "--json").output
        #expect(output.contains("\"reason\":\"digest-mismatch\""), "\(output)")
        await home.run("resume", "a.bin").expect(.refused)
        #expect(server.requests.count == requests + 1)
        #expect(!home.has("a.bin"))
    }

    @Test("Jobs that are left out, or cannot start, do not wait for a slot, and are not counted as completed")
    func leftOutOfTotals() async throws {
        let server = try await home.serve { request in
            request.path.hasPrefix("/typo") ? .status("404 Not Found") : .status("503 Unavailable")
        }
        let paths = ["/typo1", "/a", "/typo2", "/b", "/typo3"]
        await home.run(try list(server, paths)).expect(.refused)
        let secret = ["-H", "Authorization: Bearer hidden", server.url("/secret")]
        await home.run(["get", "-P", home.path, "--retries", "0"] + secret).expect(.tryAgain)
        let resume = await home.run("resume", "--retries", "0", width: 200)
            .expect(.refused, says: "3 of 3 downloads did not complete", "0 of 3 files, ")
        #expect(!resume.errors.contains(/3 failed[^\n]*waiting for a slot/), "\(resume)")
    }

    @Test("A job whose destination could not be written is continued, although it has no bytes")
    func refusedDestination() async throws {
        let server = try await home.serve(Self.handler)
        try home.write("a file".utf8, to: "folder")
        let get = ["get", server.url("/a.bin"), "-o", home["folder/a.bin"]]
        #expect(await home.run(get).status != .success)
        try home.remove("folder")
        try home.makeFolder("folder")
        await home.run("resume").expect(hides: "left out")
    }

    @Test("A Referer with a token is stored no more than other secrets")
    func referer() async throws {
        let server = try await home.serve(Self.failing("/a.bin"))
        let page = "https://example.org/page?token=hidden-referer"
        for options in [["-e", page], ["-H", "Referer: \(page)"]] {
            let get = ["get", server.url("/a.bin"), "-o", home["a.bin"], "--retries", "0"] + options
            await home.run(get).expect(.tryAgain)
            #expect(server.requests.last?.field("Referer") == page)
            #expect(try await home.run("jobs", "--json").object["needs"]?.array?.first?.string == "Referer")
            #expect(!String(decoding: try home.storedBytes(), as: UTF8.self).contains("hidden-referer"))
        }
        await home.run("resume").expect(.refused, says: "needs the header field Referer")
        await home.run("resume", "-e", page).expect(.tryAgain)
        #expect(server.requests.last?.field("Referer") == page)
        // A page without secrets is no secret.
        let plain = [
            "get", server.url("/a.bin"), "-o", home["a.bin"], "--retries", "0", "-e", "https://h/page?id=1",
        ]
        await home.run(plain).expect(.tryAgain)
        await home.run("resume").expect(.tryAgain)
        #expect(server.requests.last?.field("Referer") == "https://h/page?id=1")
    }

    @Test(
        "Jobs whose files the server names are all continued, whatever their URLs end with", arguments: [true, false])
    func namedAlike(areNamed: Bool) async throws {
        let server = try await home.serve { .file(Sample.resource, for: $0, cutAfter: Sample.cut) }
        let urls = ["/get?id=1", "/get?id=2"].map { server.url($0) }
        for url in urls {
            await home.run("get", "-J", url, "-P", home.path, "--retries", "0").expect(.tryAgain)
        }
        server.setHandler { .file(Sample.resource, for: $0) }
        let resume = await home.run(["resume"] + (areNamed ? urls : [])).expect(hides: "left out")
        // The one that ends last may find that the name is taken.
        let attempts = try await home.run("jobs", "--all", "--json").json.map { $0["attempts"]?.integer }
        #expect(attempts == [2, 2], "\(resume.errors)")
    }

    @Test("A file that is done is not cancelled, and nothing of it is said to be kept")
    func done() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out"]).expect(.success)
        await home.run("cancel", home["out"]).expect(.success, says: "is done, so there is nothing to do")
        #expect(try await home.run("jobs", "--all", "--json").object["state"]?.string == "done")
        await home.run("forget", home["out"]).expect(.success, hides: "kept")
    }

    @Test("A job that several arguments name runs once, and is forgotten once")
    func namedTwice() async throws {
        let server = try await home.serve { _ in
            .status("503 Unavailable")
        }
        let get = ["get", "--retries", "0", "--key", "aa-image", server.url("/image.iso"), "-o", home["image.iso"]]
        await home.run(get).expect(.tryAgain)
        server.setHandler(Self.handler)
        let names = ["aa-image", "image.iso", home["image.iso"]]
        let resumed = await home.run(["resume"] + names)
        #expect(resumed.status == .success && server.requests.count == 2, "\(resumed.errors)")
        #expect(resumed.output == home["image.iso"] + "\n")
        #expect(resumed.errors.split(separator: "\n").count { $0.contains(": done") } == 1, "\(resumed.errors)")
        #expect(!resumed.errors.contains("waiting"), "\(resumed.errors)")
        let forgotten = await home.run(["forget"] + names)
        #expect(forgotten.errors.split(separator: "\n").count == 1, "\(forgotten.errors)")
    }

    @Test("Several processes work on one list, and each job runs once")
    func together() async throws {
        let gate = Gate()
        let server = try await home.serve { request in
            var response = Self.handler(request)
            response.steps.insert(.gate(gate), at: 0)
            return response
        }
        let get = try list(server, (0..<40).map { "/\($0).bin" })
        async let first = home.run(get)
        try await wait { server.requests.count == 4 }
        async let second = home.run(get)
        async let third = home.run("resume")
        try await wait { server.requests.count == 12 }
        await home.run("cancel", server.url("/0.bin")).expect(.refused, says: "is running in another process")
        gate.open()
        let outcomes = await [first, second, third]
        #expect(outcomes.allSatisfy { $0.status == .success }, "\(outcomes.map(\.errors))")
        #expect(Set(server.requests.map(\.path)).count == 40)
        // A job that another process finished between the reading and the start of it is at most asked about.
        #expect(server.requests.filter { $0.field("If-None-Match") == nil }.count == 40)
        #expect(try home.names().count == 42)
    }

    @Test("The request for a file that others asked for with another digest or password is sent")
    func otherTerms() async throws {
        let server = try await home.serve(Self.handler)
        let get = ["get", "-P", home.path, server.url("/a.bin")]
        await home.run(get).expect(.success)
        let digest = String(repeating: "0", count: 64)
        await home.run(get + ["--sha256", digest]).expect(.refused)
        await home.run(get + ["-H", "Authorization: Bearer other"]).expect(.success)
        await home.run(get + ["--restart"]).expect(.success)
        #expect(server.requests.allSatisfy { $0.field("If-None-Match") == nil })
    }
}
