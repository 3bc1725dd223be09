import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// The statuses that `get` ends with, but for usage.
@Suite(.timeLimit(.minutes(20)))
struct ExitStatusTests {
    private let home = Home()

    @Test(arguments: [(401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"), (410, "Gone")])
    func refusedByTheServer(status: Int, phrase: String) async throws {
        let server = try await home.serve { _ in .status("\(status) \(phrase)") }
        await home.run("get", server.url(), "--output", home["out.bin"]).expect(.refused, says: "\(status) \(phrase)")
        #expect(!home.has("out.bin"))
        #expect(server.requests.count == 1)
        // Nothing came, so nothing is kept.
        #expect(await home.run("list").output.isEmpty)
    }

    /// The trap of the expired link: a refusal takes nothing away from what is held.
    @Test func aRefusalKeepsWhatIsHeld() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "--output", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { _ in .status("403 Forbidden", body: Array("expired".utf8)) }
        await home.run(get).expect(.refused)
        #expect(try await home.held(server.url()) == Sample.cut)
        server.setHandler(Sample.whole)
        await home.run(get).expect(.success, says: "resumed at")
    }

    @Test func unreachable() async throws {
        // A port of which no server takes one: it needs privileges and is the protocol "discard".
        await home.run(
            "get", "http://127.0.0.1:9/file.bin", "--output", home["out.bin"], "--retries", "0"
        ).expect(.tryAgain, says: "could not connect to 127.0.0.1", hides: "reset")
    }

    @Test func noAnswerForNow() async throws {
        let answers: [Response] = [
            .status("503 Service Unavailable"), .status("500 Internal Server Error"), .status("429 Too Many Requests"),
            .status("408 Request Timeout"), Response([.close]), Response([.reset]),
            Response([.raw(Array("no".utf8)), .close]),
        ]
        for answer in answers {
            let server = try await home.serve { _ in answer }
            let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--retries", "0")
            #expect(outcome.status == .tryAgain, "\(answer): \(outcome.errors)")
            #expect(!home.has("out.bin"))
            #expect(server.requests.count == 1)
        }
    }

    @Test func stalled() async throws {
        let server = try await home.serve {
            .file(Sample.resource, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let get = ["get", server.url(), "--output", home["out.bin"], "--retries", "0"]
        await home.run(get + ["--stall-timeout", "5"]).expect(.tryAgain, says: "stalled: less than")
        let held = try #require(try await home.held(server.url()))
        #expect((1...Sample.cut).contains(held))
        server.setHandler(Sample.whole)
        let second = try await home.run(get + ["--json"]).json
        #expect(second.last?["event"]?.string == "finished" && second.last?["reusedBytes"]?.integer == held)
    }

    /// A server whose tag is another one each time ends as something to try again, not in an endless loop.
    @Test func unstable() async throws {
        let server = try await home.serve { request in
            .file(Resource(Sample.content, etag: "\"v\(request.number)\""), for: request, cutAfter: 100_000)
        }
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--json").expect(.tryAgain)
        let last = try #require(try outcome.json.last)
        #expect(last["reason"]?.string == "unstable")
        #expect(server.requests.count < 8)
        #expect(!home.has("out.bin"))
    }

    @Test func interruptedByTheUser() async throws {
        let outcome = try await home.whileDownloading { url in
            let entry = try #require(try await home.entry(url))
            #expect(entry["inUse"]?.bool == true)
        }
        #expect(outcome.status == .interrupted)
        #expect(outcome.errors.contains("kept"))
        #expect(!home.has("busy.bin"))
        let entry = try #require(try await home.run("list", "--json").json.first)
        #expect(entry["receivedBytes"]?.integer == Sample.cut)
        #expect(entry["inUse"]?.bool == false)
        let event = try #require(try await home.run("log", "--json").json.last)
        #expect(event["kind"]?.string == "interrupted" && event["reason"]?.string == "interrupted")
    }

    @Test(
        "An interruption promises nothing that cannot be kept", arguments: ["validator", "ranges", "restart", "bytes"])
    func interruptedInVain(missing: String) async throws {
        var resource = Sample.resource
        switch missing {
        case "validator": resource.etag = nil
        case "ranges": (resource.acceptRanges, resource.ignoresRange) = ("none", true)
        default: break
        }
        let json = missing == "restart" ? ["--json", "--restart"] : ["--json"]
        if missing == "bytes" {
            let handler: @Sendable (OriginRequest) -> Response = { _ in Response([.hold]) }
            let outcome = try await OriginServer.withServer(handler: handler) { server async throws in
                let download = Task { await home.run(["get", server.url(), "-o", home["out.bin"]] + json) }
                try await wait { server.requests.count == 1 }
                download.cancel()
                return await download.value
            }
            #expect(outcome.errors.contains("interrupted before any data was received"), "\(outcome.errors)")
            #expect(try outcome.json.last?["resumable"]?.bool == false)
            return
        }
        let outcome = try await home.whileDownloading(of: resource, options: json) { _ in }
        #expect(outcome.status == .interrupted)
        if missing == "restart" {
            #expect(outcome.errors.contains("Run the command again without --restart to resume"), "\(outcome.errors)")
            return
        }
        if missing == "ranges" {
            // A server may say so and accept ranges; if it does not, what it sends is compared with what is kept.
            #expect(outcome.errors.contains("Run the command again to resume"), "\(outcome.errors)")
            #expect(try outcome.json.last?["resumable"]?.bool == true)
            return
        }
        #expect(
            outcome.errors.contains("Running the command again restarts the download: the server"), "\(outcome.errors)")
        #expect(outcome.errors.contains("--allow-unvalidated"), "\(outcome.errors)")
        #expect(try outcome.json.last?["resumable"]?.bool == false)
        // Who compares can go on without a validator.
        let options = ["--allow-unvalidated"] + json
        let second = try await home.whileDownloading("other.bin", of: resource, options: options) { _ in }
        #expect(second.errors.contains("Run the command again to resume"), "\(second.errors)")
        #expect(try second.json.last?["resumable"]?.bool == true)
    }

    /// Destinations that cannot be written, relative to the home.
    private static let unwritable = ["missing/out.bin", "folder", "file/out.bin", "folder/.", "folder/.."]

    @Test(arguments: unwritable)
    func unwritableDestination(name: String) async throws {
        try home.makeFolder("folder")
        try home.write([1], to: "file")
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "--output", home[name]).expect(.cannotCreate, says: "cannot write")
        #expect(server.acceptedConnections == 0)
        #expect(try home.names() == ["file", "folder"])
    }

    @Test func unwritableFolder() async throws {
        let server = try await home.serve(Sample.whole)
        try home.write([1], to: "file")
        for folder in [home["file/folder"], home["file"], "/proc/resumectl/folder"] {
            await home.run("get", server.url(), server.url("/b.bin"), "--directory", folder)
                .expect(.cannotCreate, says: "cannot write", folder)
        }
        #expect(server.acceptedConnections == 0)
    }

    /// A store that cannot be made, since not even root makes folders there.
    @Test(arguments: ["/proc/resumectl/store", "/proc/self/task", "/dev/null/store"])
    func storeThatCannotBeMade(path: String) async throws {
        let server = try await home.serve(Sample.whole)
        let outcome = await home.run("get", server.url(), "--output", home["out.bin"], "--store", path)
        #expect(outcome.status == (path.hasPrefix("/proc") ? .io : .damaged), "\(outcome.errors)")
        #expect(outcome.errors.contains(path.hasPrefix("/proc/r") ? "/proc/resumectl" : path), "\(outcome.errors)")
        #expect(server.acceptedConnections == 0)
    }

    private static let ofAnEntry = ["show", "pin", "unpin", "verify"]

    @Test(arguments: ofAnEntry)
    func noSuchEntry(command: String) async throws {
        try await home.leavePartial()
        let outcome = await home.run(command, "http://127.0.0.1:9/other.bin").expect(.notFound)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("no entry http://127.0.0.1:9/other.bin"))
        #expect(outcome.errors.contains("resumectl list"))
    }

    /// A file without certificates is found before any request, and is not taken for a fault of the network.
    @Test func noCertificates() async throws {
        try Data("not a certificate".utf8).write(to: URL(fileURLWithPath: home["ca.pem"]))
        await home.run("get", "https://127.0.0.1:9/file.bin", "--cacert", home["ca.pem"])
            .expect(.notFound, says: "no certificates in PEM form")
    }
}
