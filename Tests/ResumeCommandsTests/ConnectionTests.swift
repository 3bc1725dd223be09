import OriginServer
@testable import ResumeCommands
import Testing

/// How servers are reached: the options, and that bytes of unproved servers stay apart.
@Suite(.timeLimit(.minutes(20)))
struct ConnectionTests {
    private let home = Home()

    @Test("A host and port lead to the address of --resolve, and the request names the host")
    func resolve() async throws {
        let server = try await home.serve(Sample.whole)
        let option = ["--resolve", "a.invalid:\(server.port):127.0.0.1"]
        let url = "http://a.invalid:\(server.port)/file.bin"
        await home.run(["get", url, "-o", home["out"], "--retries", "0"] + option).expect(.success)
        #expect(server.requests.first?.field("host") == "a.invalid:\(server.port)")
        for places in [["*"], ["*", "a.invalid"]] {
            let options = places.flatMap { ["--resolve", "\($0):\(server.port):127.0.0.\(places.count)"] }
            let any = await home.run(["get", url, "-o", home["\(places.count)"], "--retries", "0"] + options)
            #expect(any.status == (places.count == 1 ? .success : .tryAgain), "\(any.errors)")
        }
        // Another port is another server.
        let other = await home.run(["get", "http://a.invalid:9/file.bin", "-o", home["no"], "--retries", "0"] + option)
        // If there is a resolver, it says that there is no such host.
        #expect([.tryAgain, .refused].contains(other.status) && other.errors.contains("host a.invalid"))
    }

    @Test("If an address does not accept connections, the next one is used, also by the requests after that")
    func severalAddresses() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let url = "http://a.invalid:\(server.port)/file.bin"
        let get = ["get", url, "-o", home["out"], "--resolve", "a.invalid:\(server.port):"]
        let none = await home.run(get.dropLast() + [get[5] + "127.0.0.8,127.0.0.9", "--retries", "0"])
        #expect(none.status == .tryAgain && none.errors.contains("could not connect"), "\(none.errors)")
        let outcome = await home.run(get.dropLast() + [get[5] + "127.0.0.9,127.0.0.1,[::1]"])
        #expect(outcome.status == .success && server.requests.count == 2, "\(outcome.errors)")
        #expect(Sample.content.matches(try home.bytes("out")))
    }

    /// Returns an option with its value, if it has one, for connections to a server.
    private static func arguments(_ option: String, _ server: OriginServer) -> [String] {
        switch option {
        case "--resolve": [option, "127.0.0.1:\(server.port):127.0.0.1"]
        case "--proxy": [option, "http://127.0.0.1:\(server.port)"]
        default: [option]
        }
    }

    private static func isWhole(_ request: OriginRequest) -> Bool { request.field("range") == nil }

    @Test(
        "Bytes that came from the address of --resolve, without certificates or through --proxy never reach others",
        arguments: ["--resolve", "--insecure", "--proxy"])
    func apart(option: String) async throws {
        let server = try await home.serve(Sample.cutOnce)
        let options = Self.arguments(option, server)
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0"]
        await home.run(get + options).expect(.tryAgain)
        let jobs = try await home.run("jobs", "--json").json
        #expect(jobs.first?["needs"]?.array?.compactMap(\.string) == [option])
        await home.run("jobs").expect(prints: "[needs \(option)]")
        // Neither `resume` without it, nor `get`, uses the bytes.
        await home.run("resume").expect(.refused, says: "was started with \(option)")
        #expect(server.requests.count == 1)
        await home.run("get", server.url(), "-o", home["usual"], "--retries", "0").expect(.success, hides: "resumed")
        #expect(server.requests.map(Self.isWhole) == [true, true])
        // With the same option, they are.
        await home.run(get + options).expect(.success, says: "resumed at")
        #expect(server.requests.map(Self.isWhole) == [true, true, false])
        #expect(Sample.content.matches(try home.bytes("out")))
    }

    @Test(
        "verify --remote and adopt connect with these options, too", arguments: ["--resolve", "--insecure", "--proxy"])
    func otherCommands(option: String) async throws {
        let server = try await home.serve(Sample.cutOnce)
        let options = Self.arguments(option, server)
        await home.run(["get", server.url(), "-o", home["out"], "--retries", "0"] + options).expect(.tryAgain)
        await home.run("verify", "--remote", server.url()).expect(.refused, says: "was started with \(option)")
        #expect(server.requests.count == 1)
        await home.run(["verify", "--remote", server.url(), "-u", "a:b"] + options).expect(.success, prints: "agree")
        #expect(
            server.requests.count > 1 && server.requests.dropFirst().allSatisfy { $0.field("authorization") != nil }
        )
        try home.write(Array(Sample.content.bytes(in: 0..<200_000)), to: "part")
        let adopt = await home.run(["adopt", home["part"], server.url("/b"), "-o", home["b"]] + options)
        #expect(adopt.status == .success && adopt.output.contains("samples agree"), "\(adopt.errors)")
        let jobs = try await home.run("jobs", "--json").json
        #expect(jobs.count == 2 && jobs.allSatisfy { $0["needs"]?.array?.compactMap(\.string) == [option] })
    }

    @Test("A download that was started as usual is not continued with less proof")
    func usualFirst() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        let resume = await home.run("resume", "-k")
        #expect(resume.status == .refused && resume.errors.contains("was started without these options"))
        #expect(resume.errors.contains("warning: --insecure (-k): certificates are not verified"))
        let insecure = await home.run(get + ["-k"])
        #expect(insecure.status == .success && server.requests.map(Self.isWhole) == [true, true])
        let quiet = await home.run(get + ["-k", "-q"])
        #expect(quiet.status == .success && quiet.errors.isEmpty, "\(quiet.errors)")
    }

    @Test("A file that was delivered without proof is fetched again with it")
    func deliveredBefore() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out"]]
        await home.run(get + ["-k"]).expect(.success)
        await home.run(get).expect(.success)
        #expect(server.requests.allSatisfy { $0.field("if-none-match") == nil } && server.requests.count == 2)
    }

    @Test("Connections of one version of the protocol, and from an interface")
    func versions() async throws {
        let server = try await home.serve(Sample.whole)
        let cases: [([String], Bool)] = [
            (["-4"], true), (["-6"], false), (["--interface", "lo"], true),
            (["--interface", "127.0.0.1", "-4"], true),
        ]
        for (options, isReached) in cases {
            let outcome = await home.run(
                ["get", server.url(), "-o", home["out"], "--retries", "0", "--restart"] + options)
            #expect(outcome.status == (isReached ? .success : .refused), "\(options): \(outcome.errors)")
            #expect(isReached || outcome.errors.contains("could not connect to 127.0.0.1"))
        }
        let name = "http://localhost:\(server.port)/file.bin"
        await home.run("get", name, "-4", "-o", home["local"], "--retries", "0").expect(.success)
        let none = await home.run("get", server.url(), "-o", home["no"], "--interface", "none0")
        #expect(none.status == .refused && none.errors.contains("from none0, which is not an interface or address"))
    }

    @Test("A file that is not complete in time is given up, and its bytes are kept")
    func maxTime() async throws {
        let server = try await home.serve {
            .file(Sample.resource, for: $0, cutAfter: Sample.cut, stall: true)
        }
        let get = ["get", server.url(), "-o", home["out"]]
        let limited = try await home.runLimited(get) { _ in try await home.held(server.url()) == Sample.cut }
        #expect(limited.outcome.status == .tryAgain)
        let limit = limited.seconds < 60 ? "\(limited.seconds)s" : "\(limited.seconds / 60)m"
        #expect(limited.outcome.errors.contains("not complete after \(limit)"), "\(limited.outcome.errors)")
        #expect(limited.outcome.errors.contains("(--max-time); the partial data is kept"))
        #expect(try await home.run("jobs", "--json").object["state"]?.string == "waiting")
        server.setHandler(Sample.whole)
        await home.run(get + ["--max-time", "1h"]).expect(.success)
    }
}
