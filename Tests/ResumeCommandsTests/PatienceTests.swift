import Foundation
import OriginServer
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// Servers that need time: silent ones, busy ones, and those that end the handshake.
@Suite(.timeLimit(.minutes(5)))
struct PatienceTests {
    private let home = Home()

    @Test("A20: a server that says nothing is given up with the option that waits longer", arguments: [true, false])
    func silent(isHeadSent: Bool) async throws {
        let answer: @Sendable (OriginRequest) -> Response = { request in
            isHeadSent ? .file(Sample.resource, for: request, cutAfter: 0, stall: true) : Response([.hold])
        }
        let server = try await home.serve(answer)
        await home.run("get", server.url(), "-o", home["out"], "--stall-timeout", "0.5", "--retries", "0")
            .expect(.tryAgain, says: "--stall-timeout TIME waits longer")
    }

    @Test("resume takes the option that waits longer, too")
    func silentResume() async throws {
        let server = try await home.serve { .file(Sample.resource, for: $0, cutAfter: Sample.cut) }
        await home.run("get", server.url(), "-o", home["out"], "--retries", "0").expect(.tryAgain)
        server.setHandler { .file(Sample.resource, for: $0, cutAfter: 0, stall: true) }
        await home.run("resume", "--stall-timeout", "0.5", "--retries", "0")
            .expect(.tryAgain, says: "--stall-timeout TIME waits longer")
        for time in ["0", "86401"] {
            await home.run("resume", "--stall-timeout", time).expect(.usage, says: "--stall-timeout must be")
        }
    }

    @Test("After progress, --retry-time 0 ends a download at the first failure, whatever --retries says")
    func noRetryTime() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let outcome = await home.run("get", server.url(), "-o", home["out"], "--retry-time", "0", "--retries", "9")
        #expect(outcome.status == .tryAgain && server.requests.count == 1, "\(outcome)")
    }

    @Test("A server without validators that cuts each response is given up with the option that resumes")
    func withoutValidators() async throws {
        let resource = Resource(Sample.content)
        let server = try await home.serve { .file(resource, for: $0, cutAfter: Sample.cut) }
        let get = ["get", server.url(), "-o", home["out"]]
        await home.run(get)
            .expect(.tryAgain, says: "cannot be validated", "--allow-unvalidated compares bytes and resumes.")
        await home.run(get + ["--allow-unvalidated"]).expect(.success)
        #expect(Sample.content.matches(try home.bytes("out")))
    }

    @Test("A dead link that says when to ask again ends no other download of its host, and is requested once")
    func deadLink() async throws {
        let server = try await home.serve { request in
            request.path == "/dead"
                ? .status("404 Not Found", fields: [("Retry-After", "5000")]) : .file(Sample.resource, for: request)
        }
        let urls = ["/dead", "/a", "/b"].map { server.url($0) }
        let outcome = await home.run(["get", "-P", home.path, "--max-concurrent", "1"] + urls)
        #expect(outcome.status == .tryAgain && outcome.errors.contains("asks to wait until"), "\(outcome)")
        #expect(home.has("a") && home.has("b"))
        #expect(server.requests.filter { $0.path == "/dead" }.count == 1)
    }

    @Test("A URL that always fails for now ends, although others of its host are received")
    func deadURL() async throws {
        let server = try await home.serve { request in
            request.path == "/dead" ? .status("503 Service Unavailable") : .file(Sample.resource, for: request)
        }
        let urls = ["/a", "/dead"].map { server.url($0) }
        let outcome = await home.run(["get", "-P", home.path, "--max-concurrent", "1", "--retries", "1"] + urls)
        #expect(outcome.status == .tryAgain && home.has("a"), "\(outcome)")
        #expect(server.requests.filter { $0.path == "/dead" }.count == 4)
    }

    /// How a host turns down a further connection.
    enum Refusal: String, CaseIterable, Sendable {
        case tooMany = "429 Too Many Requests"
        case unavailable = "503 Service Unavailable"
        case forbidden = "403 Forbidden"
        case close

        var response: Response { self == .close ? Response([.close]) : .status(rawValue) }
    }

    @Test(
        "A21: a host that refuses a second connection gets one, and the other files wait", arguments: Refusal.allCases)
    func busy(refusal: Refusal) async throws {
        // One file is sent until another one was refused; then the host serves one at a time.
        let refused = Flag()
        let served = Mutex<String?>(nil)
        let server = try await home.serve { request in
            let isFirst = served.withLock { path in
                if path == nil { path = request.path }
                return path == request.path
            }
            if isFirst {
                return .file(Sample.resource, for: request, pausingAt: 1000, for: .wait(until: { refused.isSet }))
            }
            guard refused.isSet else {
                refused.set()
                return refusal.response
            }
            return .file(Sample.resource, for: request)
        }
        let urls = (1...3).map { server.url("/file\($0)") }
        await home.run(["get", "-j", "3", "-P", home["files"], "--retries", "1"] + urls).expect(.success)
        for number in 1...3 { #expect(home.has("files/file\(number)")) }
    }

    @Test("E8: a TLS handshake that the server ends is retried, and temporary", arguments: [true, false])
    func handshake(resets: Bool) async throws {
        let server = try HandshakeEnder(resets: resets)
        defer { server.stop() }
        let outcome = await home.run(
            "get", "https://127.0.0.1:\(server.port)/file", "-o", home["out"], "--retries", "2"
        ).expect(.tryAgain)
        #expect(server.accepted == 3, "\(outcome)")
    }
}

/// A flag that a test waits for.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}
