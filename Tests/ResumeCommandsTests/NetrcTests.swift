import Foundation
import OriginServer
@testable import ResumeCommands
import Testing

/// `get --netrc`: users and passwords in a file, as curl reads it.
@Suite(.timeLimit(.minutes(20)))
struct NetrcTests {
    private let home = Home()

    private func write(_ text: String, mode: Int = 0o600) throws {
        try home.write(text.utf8, to: ".netrc")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home[".netrc"])
    }

    /// Returns the credentials that the origin receives.
    private func sent(_ arguments: String..., user: String = "") async throws -> String? {
        let handler: @Sendable (OriginRequest) -> Response = { .file(Resource(Content("abc")), for: $0) }
        return try await OriginServer.withServer(handler: handler) { server async throws in
            let url = user.isEmpty ? server.url() : server.url("/file.bin", user: user)
            await home.run(
                ["get", url, "-P", home.path] + arguments,
                environment: ["HOME": home.path, "RESUMECTL_STORE": home.store]
            ).expect(.success)
            return server.requests.last?.field("authorization").map(Self.decoded)
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
        "default login d password e\nmachine 127.0.0.1 login me password word": "d:e",
        "MACHINE 127.0.0.1 Login me\r\nPASSWORD word\r\n": "me:word",
        "machine 127.0.0.1 login me password word # machine 127.0.0.1 login x password x": "me:word",
        "machine 127.0.0.1 protocol https login me port 80 password #word": "me:#word",
        "machine 127.0.0.1 login me password \"a\\tb\\\\c\\n\"": "me:a\tb\\c\n",
        "machine 127.0.0.1 login me": "me:", "machine 127.0.0.1 password word": ":word",
        "machine 127.0.0.1 login me password word\nmacdef x\n# y\nmachine 127.0.0.1\n\n": "me:word",
        "machine 127.0.0.2 login me password word": nil, "": nil, "secret1": nil, "machine": nil, "login me": nil,
    ]

    @Test("The first login of the host, or of every host, is used as libcurl reads it", arguments: files.keys.sorted())
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
        await run().expect(.notFound)
        for mode in [0o640, 0o604] {
            try write("default login me password secret1", mode: mode)
            await run().expect(.notFound, says: "chmod 600")
        }
        try write("machine h login a password \"secret1")
        await run().expect(.usage, says: "not in the format", hides: "secret1")
    }

    @Test(
        "A user in the URL gets the password of this user",
        arguments: [("two", "two:b"), ("three", "three:"), ("one:x", "one:x")])
    func user(user: String, expected: String) async throws {
        try write("machine 127.0.0.1 login one password a\nmachine 127.0.0.1 login two password b")
        #expect(try await sent("-n", user: user) == expected)
    }

    @Test("The file may be a pipe, which is read once")
    func pipe() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("default login me password word".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(try await sent("--netrc-file", "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)") == "me:word")
    }

    @Test("The host of a redirect gets its own login, and none that was not named for it")
    func redirects() async throws {
        let entry = "login me password word"
        let files = [
            "machine 127.0.0.1 \(entry)\nmachine localhost login l password m": ["me:word", "l:m"],
            "machine localhost login l password m": [nil, "l:m"], "machine 127.0.0.1 \(entry)": ["me:word", nil],
            "default \(entry)": ["me:word", nil],
        ]
        let handler: @Sendable (OriginRequest) -> Response = { request in
            let host = request.field("host") ?? ""
            guard host.hasPrefix("127.") else { return .file(Resource(Content("abc")), for: request) }
            let place = host.replacing("127.0.0.1", with: "localhost")
            return .status("302 Found", fields: [("Location", "http://\(place)/file.bin")])
        }
        for (text, expected) in files {
            try write(text)
            let sent = try await OriginServer.withServer(handler: handler) { server async throws in
                let get = ["get", server.url(), "-P", home.path, "--restart", "--netrc-file", home[".netrc"]]
                await home.run(get).expect(.success)
                return server.requests.map { $0.field("authorization").map(Self.decoded) }
            }
            #expect(sent == expected, "\(text)")
        }
    }

    @Test("A user and password in Location are used there")
    func location() async throws {
        let server = try await home.serve { request in
            guard request.path == "/file.bin" else { return .file(Resource(Content("abc")), for: request) }
            return .status("302 Found", fields: [("Location", "http://l:m@\(request.field("host") ?? "")/b")])
        }
        let url = server.url("/file.bin", user: "u:v")
        await home.run("get", url, "-o", home["out"]).expect(.success)
        #expect(server.requests.map { $0.field("authorization").map(Self.decoded) } == ["u:v", "l:m"])
        #expect(!home.transcript.contains("l:m"))
    }

    private static func decoded(_ value: String) -> String {
        String(decoding: Data(base64Encoded: String(value.dropFirst(6))) ?? Data(), as: UTF8.self)
    }
}
