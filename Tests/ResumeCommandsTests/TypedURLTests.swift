import OriginServer
@testable import ResumeCommands
import Testing

/// URLs as people type them.
@Suite(.timeLimit(.minutes(20)))
struct TypedURLTests {
    private let home = Home()

    @Test("Without a scheme, http is used for this machine")
    func loopback() async throws {
        let server = try await home.serve(Sample.whole)
        let hosts = ["127.0.0.1", "localhost", "LOCALHOST"]
        for (number, host) in hosts.enumerated() {
            await home.run("get", "\(host):\(server.port)/\(number).bin", "-P", home["out"]).expect(.success)
            #expect(Sample.content.matches(try home.bytes("out/\(number).bin")))
        }
        try home.write("127.0.0.1:\(server.port)/listed.bin?part=1#fragment\n".utf8, to: "list.txt")
        await home.run("get", "-i", home["list.txt"], "-P", home["out"]).expect(.success)
        #expect(server.requests.map(\.target).suffix(1) == ["/listed.bin?part=1"])
        #expect(home.has("out/listed.bin"))
    }

    /// What the message of a failed connection names.
    private static let hosts = [
        "a.invalid/f.bin": "https://a.invalid/f.bin", "a.invalid:8443/f.bin": "https://a.invalid:8443/f.bin",
        "b_1.invalid/@scope/f.bin": "https://b_1.invalid/@scope/f.bin", "127.1.2.3:9/f.bin": "http://127.1.2.3:9/f.bin",
        "[::1]:9/f.bin": "http://[::1]:9/f.bin", "x.localhost:9/f.bin": "http://x.localhost:9/f.bin",
        "a.invalid:80": "https://a.invalid:80/", "127.0.0.1:9": "http://127.0.0.1:9/", "[::1]:9": "http://[::1]:9/",
        "localhost:9": "http://localhost:9/", "127.1:9/f.bin": "http://127.0.0.1:9/f.bin",
        "0177.0.0.1:9/f.bin": "http://127.0.0.1:9/f.bin",
    ]

    @Test("Without a scheme, https is used for any other host", arguments: hosts.keys.sorted())
    func schemes(text: String) async throws {
        // Without a network, the look-up of a name may take half a minute.
        let get = ["get", text, "-o", home["out"], "--retries", "0", "--connect-timeout", "5"]
        let outcome = await home.run(get)
        // If there is a resolver, it says that there are no such names.
        let isNamed = text.contains(".invalid")
        outcome.expect(
            isNamed && outcome.status == .refused ? .refused : .tryAgain, says: Self.hosts[text] ?? "?")
    }

    @Test("An octal address that looks like this machine's is that of another one")
    func octal() async throws {
        await home.run("get", "0127.0.0.1/", "-P", home.path).expect(.usage, says: "https://87.0.0.1/ ")
    }

    @Test("A host and port without a path has no file name")
    func withoutPath() async throws {
        let outcome = await home.run("get", "127.0.0.1:9").expect(.usage)
        #expect(
            outcome.errors == "resumectl: argument 1: http://127.0.0.1:9/ does not contain a file name. "
                + "Specify one with --output.\n")
    }

    @Test("https is not followed by http")
    func noFallback() async throws {
        let server = try await home.serve(Sample.whole)
        // An address of this machine that is not a loopback address by its form.
        let outcome = await home.run("get", "0.0.0.0:\(server.port)/file.bin", "-o", home["out"], "--retries", "0")
        #expect(outcome.status != .success, "\(outcome.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test("What is encoded already stays as it is beside characters that must be encoded")
    func partlyEncoded() async throws {
        let server = try await home.serve(Sample.whole)
        let urls = ["/ü ä%20b.bin", "/c[1] d.bin", "/e.bin?q=a%20b&r=ü", "/f.bin?u=http%3A%2F%2Fh&q=100%|"]
        await home.run(["get", "-P", home["out"]] + urls.map { server.url($0) }).expect(.success)
        #expect(
            Set(server.requests.map(\.target)) == [
                "/%C3%BC%20%C3%A4%20b.bin", "/c%5B1%5D%20d.bin", "/e.bin?q=a%20b&r=%C3%BC",
                "/f.bin?u=http%3A%2F%2Fh&q=100%25%7C",
            ])
    }

    @Test("Spaces are encoded")
    func spaces() async throws {
        let server = try await home.serve(Sample.whole)
        let urls = [server.url("/my file.bin?a=b c"), "127.0.0.1:\(server.port)/other file.bin"]
        await home.run(["get", "-P", home["out"]] + urls).expect(.success)
        #expect(server.requests.map(\.target).sorted() == ["/my%20file.bin?a=b%20c", "/other%20file.bin"])
        #expect(try home.names(in: "out") == ["my file.bin", "other file.bin"])
    }

    private static let refused = [
        "f.bin", "a.invalid", "a:80", "user:80", "a.invalid:", "a.invalid:0", "a.invalid:80a", "[::1]", "a.invalid:/f",
        "a.invalid:0/f", "a.invalid:65536/f", "a.invalid:+80/f",
        "a..invalid/f", ".a/f", "../f", "~/f", "http//a.invalid/f", "a//f", "a b/f", "[::1/f", "[1]/f", "[::1]x/f",
        "me@a.invalid/f", "C:\\f/g", "bücher.invalid/f",
    ]

    @Test("Anything else is refused", arguments: refused)
    func noURL(text: String) async throws {
        await home.run("get", text, "-o", home["out"])
            .expect(.usage, says: "argument 1: not an absolute URL", hides: text)
        #expect(try home.names().isEmpty)
    }
}
