import Foundation
import OriginServer
import ResumeCommands
import Testing

/// `get --netrc`: users and passwords in a file, as curl reads it.
@Suite(.timeLimit(.minutes(20)))
struct NetrcTests {
    private let home: Home

    init() throws { home = try Home() }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try home.write(text.utf8, to: ".netrc")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home[".netrc"])
    }

    /// Returns the credentials that the origin receives.
    private func sent(_ arguments: String..., user: String = "") async throws -> String? {
        let handler: @Sendable (OriginRequest) -> Response = { .file(Resource(Content("abc")), for: $0) }
        return try await OriginServer.withServer(handler: handler) { server async throws in
            let url = user.isEmpty ? server.url() : server.url("/file.bin", user: user)
            let outcome = await home.run(
                ["get", url, "-P", home.path] + arguments,
                environment: ["HOME": home.path, "RESUMECTL_STORE": home.store])
            #expect(outcome.status == .success, "\(outcome.errors)")
            let value = server.requests.last?.fields.first { $0.name.lowercased() == "authorization" }?.value
            let text = value.flatMap { Data(base64Encoded: String($0.dropFirst(6))) }
            return text.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private static let files = [
        "machine 127.0.0.1 login me password word": "me:word",
        "machine other login a password b\nmachine 127.0.0.1\n  login me\n\tpassword word\n": "me:word",
        "machine other login a password b\ndefault login d password e": "d:e",
        "machine 127.0.0.1 login me password word machine 127.0.0.1 login two password two": "me:word",
        "# machine 127.0.0.1 login x password x\nmachine 127.0.0.1 password p account z login l": "l:p",
        "machine 127.0.0.1 login \"a b\" password \"quote\\\"d\"": "a b:quote\"d",
        "macdef init\nmachine 127.0.0.1 login x password x\n\nmachine 127.0.0.1 login me password word": "me:word",
        "machine 127.0.0.2 login me password word": nil, "": nil,
    ]

    @Test("The first login of the host or the default one is used", arguments: files.keys.sorted())
    func logins(text: String) async throws {
        try write(text)
        #expect(try await sent("--netrc") == Self.files[text] ?? nil)
    }

    @Test("Without the option nothing is read, and credentials of the command line take precedence")
    func precedence() async throws {
        try write("default login me password word")
        #expect(try await sent() == nil)
        #expect(try await sent("-n") == "me:word")
        #expect(try await sent("-n", "-u", "a:b") == "a:b")
        #expect(try await sent("-n", user: "u:v") == "u:v")
        #expect(try await sent("-n", "-H", "Authorization: Basic YTpi") == "a:b")
        #expect(try await sent("--netrc-file", home[".netrc"]) == "me:word")
    }

    @Test("A file that others may read, or that is malformed, is an error that does not show its contents")
    func wrong() async throws {
        func run() async -> Outcome {
            await home.run("get", "http://127.0.0.1:9/a", "--netrc-file", home[".netrc"])
        }
        #expect(await run().status == .notFound)
        for mode in [0o640, 0o604] {
            try write("default login me password secret1", mode: mode)
            let outcome = await run()
            #expect(outcome.status == .notFound && outcome.errors.contains("chmod 600"), "\(outcome.errors)")
        }
        for text in ["machine", "login me", "machine h login", "secret1", "machine h login a password b secret1"] {
            try write(text)
            let outcome = await run()
            #expect(outcome.status == .usage && outcome.errors.contains("not in the format"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("secret1"))
        }
    }
}
