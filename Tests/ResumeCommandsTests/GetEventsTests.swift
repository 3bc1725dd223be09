import OriginServer
@testable import ResumeCommands
import Testing

/// `get --json`: one event a line, and nothing else on standard output.
@Suite(.timeLimit(.minutes(20)))
struct GetEventsTests {
    private let home = Home()

    @Test("A page in place of an archive is a note, but no error")
    func page() async throws {
        let cases: [(path: String, type: String?, isNoted: Bool)] = [
            ("/a.tar.gz", "text/html; charset=utf-8", true), ("/model.SAFETENSORS?x=1", "TEXT/HTML", true),
            ("/a.zip", "application/xhtml+xml", true), ("/a.zip", "application/zip", false), ("/a.iso", nil, false),
            ("/index.html", "text/html", false), ("/zip", "text/html", false),
        ]
        for (path, type, isNoted) in cases {
            let fields = type.map { [("Content-Type", $0)] } ?? []
            let server = try await home.serve { _ in
                .status("200 OK", fields: fields, body: Array("<html>log in</html>".utf8))
            }
            let get = ["get", server.url(path), "-P", home.path, "--restart"]
            let outcome = await home.run(get)
            let name = path.dropFirst().prefix { $0 != "?" }
            let note = "\nnote: \(name) is an HTML page ("
            #expect(outcome.status == .success && outcome.errors.contains(note) == isNoted, "\(outcome.errors)")
            #expect(await home.run(get + ["-q"]).errors.isEmpty)
            #expect(await home.run(get + ["--json"]).errors.isEmpty)
        }
    }

    @Test func fresh() async throws {
        let server = try await home.serve(Sample.whole)
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--json").expect(.success)
        #expect(outcome.errors.isEmpty)
        let events = try outcome.json
        let first = try #require(events.first)
        #expect(first["event"]?.string == "started")
        #expect(first["totalBytes"]?.integer == 300_000)
        let last = try #require(events.last)
        #expect(last["event"]?.string == "finished")
        #expect(last["path"]?.string == home["out.bin"])
        #expect(last["totalBytes"]?.integer == 300_000)
        #expect(last["reusedBytes"]?.integer == 0)
        // A digest is there only where it was computed.
        #expect(last["sha256"] == nil)
        #expect(events.allSatisfy { $0["url"]?.string == server.url() })
        let middle = events.dropFirst().dropLast()
        #expect(!middle.isEmpty)
        #expect(middle.allSatisfy { $0.keys == ["event", "receivedBytes", "totalBytes", "url"] })
        #expect(middle.allSatisfy { $0["event"]?.string == "progress" })
        #expect(middle.last?["receivedBytes"]?.integer == 300_000)
    }

    /// The trap of progress that counts the prefix twice, or jumps back.
    @Test func progressGrows() async throws {
        let server = try await home.serve { request in
            let cut = request.number == 1 ? Sample.cut : nil
            return .file(Sample.resource, for: request, cutAfter: cut, bytesPerSecond: 600_000)
        }
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--json").expect(.success)
        #expect(try outcome.events.filter { $0 != "progress" } == ["started", "retrying", "resumed", "finished"])
        let received = try outcome.json.compactMap { $0["receivedBytes"]?.integer }
        #expect(received.count > 2)
        #expect(received == received.sorted())
        #expect(received.last == 300_000)
        let totals = try outcome.json.compactMap { $0["totalBytes"]?.integer }
        #expect(totals.allSatisfy { $0 == 300_000 })
        let retrying = try #require(try outcome.json.first { $0["event"]?.string == "retrying" })
        #expect(retrying.keys == ["afterSeconds", "event", "message", "reason", "url"])
        #expect(retrying["reason"]?.string == "connection-closed")
    }

    @Test func resumed() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--json", "--retries", "0"]
        let first = await home.run(get).expect(.tryAgain)
        let failed = try #require(try first.json.last)
        #expect(failed["event"]?.string == "failed")
        #expect(failed["resumable"]?.bool == true)
        #expect(failed["status"] == .null)
        #expect(failed["reason"]?.string == "connection-closed")

        let second = await home.run(get)
        let resumed = try #require(try second.json.first)
        #expect(resumed["event"]?.string == "resumed")
        #expect(resumed["offset"]?.integer == Sample.cut)
        #expect(resumed["totalBytes"]?.integer == 300_000)
        let finished = try #require(try second.json.last)
        #expect(finished["event"]?.string == "finished")
        #expect(finished["reusedBytes"]?.integer == Sample.cut)
        #expect(finished["fetchedBytes"]?.integer == 300_000 - Sample.cut + 4096)
        #expect(finished["totalBytes"]?.integer == 300_000)
    }

    @Test func restarted() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--json", "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { .file(Sample.changedResource, for: $0) }
        let second = await home.run(get)
        let restarted = try #require(try second.json.first)
        #expect(restarted["event"]?.string == "restarted")
        #expect(restarted["reason"]?.string == "entity-tag-changed")
        #expect(restarted["message"]?.string?.contains("\"v2\"") == true)
        let finished = try #require(try second.json.last)
        #expect(finished["event"]?.string == "finished")
        #expect(finished["reusedBytes"]?.integer == 0)
    }

    @Test func failed() async throws {
        let server = try await home.serve { _ in .status("404 Not Found") }
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--json").expect(.refused)
        let failed = try outcome.object
        #expect(failed["event"]?.string == "failed")
        #expect(failed["status"]?.integer == 404)
        #expect(failed["reason"]?.string == "status-404")
        #expect(failed["resumable"]?.bool == false)
        // The words are for standard error, the same ones.
        #expect(outcome.errors.contains(failed["message"]?.string ?? "none"))
    }

    @Test func lengthNotKnown() async throws {
        var resource = Sample.resource
        resource.framing = .chunked(size: 50_000)
        let chunked = resource
        let server = try await home.serve { .file(chunked, for: $0) }
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--json").expect(.success)
        let started = try #require(try outcome.json.first)
        #expect(started["totalBytes"] == .null)
        let finished = try #require(try outcome.json.last)
        #expect(finished["totalBytes"]?.integer == 300_000)
    }

    /// A program that reads the events learns of each download's end, and which of several it is about.
    @Test func severalDownloads() async throws {
        let server = try await home.serve { request in
            request.path == "/b.bin" ? .status("404 Not Found") : .file(Sample.resource, for: request)
        }
        let urls = ["/a.bin", "/b.bin", "/c.bin"].map { server.url($0) }
        let outcome = await home.run(["get", "--directory", home.path, "--json"] + urls).expect(.refused)
        for (url, end) in zip(urls, ["finished", "failed", "finished"]) {
            let events = try outcome.json.filter { $0["url"]?.string == url }
            #expect(events.last?["event"]?.string == end)
            #expect(events.count { ["finished", "failed"].contains($0["event"]?.string) } == 1)
        }
    }

    @Test("A wait for the origin begins with an event that says until when")
    func waits() async throws {
        let server = try await home.serve { request in
            request.number == 1
                ? .status("503 Service Unavailable", fields: [("Retry-After", "15")])
                : .file(Sample.resource, for: request)
        }
        let get = [
            "get", "-j", "1", "--directory", home.path, "--json", server.url("/a.bin"), server.url("/b.bin"),
        ]
        let outcome = await home.run(get).expect(.success)
        let waiting = try #require(try outcome.json.first { $0["event"]?.string == "waiting" })
        #expect(waiting["url"]?.string == server.url("/b.bin") && waiting["reason"]?.string == "origin")
        #expect(waiting["until"]?.string?.hasSuffix("Z") == true, "\(outcome)")
        #expect(waiting.keys == ["event", "message", "reason", "until", "url"])
    }

    /// What is found out before the first connection is an end as well.
    @Test func failedBeforeTheFirstRequest() async throws {
        let server = try await home.serve(Sample.whole)
        let outcome = await home.run("get", server.url(), "--output", home["missing/out.bin"], "--json")
        #expect(outcome.status == .cannotCreate)
        do {
            let failed = try outcome.object
            #expect(failed["event"]?.string == "failed")
        }
    }
}
