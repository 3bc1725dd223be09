import OriginServer
@testable import ResumeCommands
import Testing

/// `get --checksums`: lists of digests as other programs print them.
@Suite(.timeLimit(.minutes(20)))
struct ChecksumsTests {
    private let home = Home()

    /// Digests of FIPS 180's examples: "abc", and the empty message.
    private static let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let sha512 =
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    private static let other = String(repeating: "0", count: 64)
    private static let handler: @Sendable (OriginRequest) -> Response = {
        .file(Resource(Content("abc"), etag: "\"v1\""), for: $0)
    }

    private static let right = [
        "\(sha256)  a.bin", "\(sha256) *a.bin", "\(sha256.uppercased())  ./a.bin\r", "\(sha512)  a.bin",
        "SHA256 (a.bin) = \(sha256)", "SHA512 (dir/a.bin) = \(sha512)", "SHA2-256(a.bin)= \(sha256)", sha256, sha512,
        "\(sha256)  -", "# comment\n\n\(other)  b.bin\n900150983cd24fb0d6963f7d28e17f72  a.bin\n\(sha256)  a.bin",
        "\(other)  x/a.bin\n\(sha256)  dir/a.bin", "\(sha256)  a.bin\n\(sha512)  a.bin",
        "\(sha256)  a.bin\n\(sha256)  a.bin",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\(sha256)  a.bin\n-----BEGIN PGP SIGNATURE-----\nabc=",
    ]

    @Test("The digest of a file is found by its name", arguments: right.indices)
    func found(index: Int) async throws {
        let server = try await home.serve(Self.handler)
        for isRight in [true, false] {
            let list =
                isRight
                ? Self.right[index]
                : Self.right[index]
                    .replacing(Self.sha256, with: String(repeating: "1", count: 64))
                    .replacing(Self.sha256.uppercased(), with: String(repeating: "1", count: 64))
                    .replacing(Self.sha512, with: String(repeating: "1", count: 128))
            try home.write(list.utf8, to: "sums")
            let get = ["get", server.url("/dir/a.bin?token=1"), "-o", home["out"], "--checksums", home["sums"]]
            let outcome = await home.run(get).expect(isRight ? .success : .refused)
            #expect(isRight || outcome.errors.contains("SHA-"), "\(outcome.errors)")
        }
    }

    @Test("A download without a checksum, or with different ones, is an error before it starts")
    func notFound() async throws {
        let server = try await home.serve(Self.handler)
        let cases = [
            "\(Self.sha256)  b.bin": "contains no SHA-256 or SHA-512 of \(server.url("/a.bin"))",
            "\(Self.sha256)  a.bin\n\(Self.other)  a.bin":
                "contains different checksums for \(server.url("/a.bin"))",
            "\(Self.sha256)\n\(Self.other)": "contains different checksums for",
        ]
        for (text, message) in cases {
            try home.write(text.utf8, to: "sums")
            let outcome = await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["sums"])
            #expect(outcome.status == .refused && outcome.errors.contains("argument 1: \(home["sums"]) \(message)"))
        }
        try home.write("900150983cd24fb0d6963f7d28e17f72  a.bin\n".utf8, to: "sums")
        let md5 = await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["sums"])
        #expect(md5.status == .usage && md5.errors.contains("sums contains no SHA-256 or SHA-512 checksums"))
        await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["none"]).expect(.notFound)
        #expect(server.requests.isEmpty)
        // In a list, the others go on.
        try home.write("\(server.url("/a.bin"))\n\(server.url("/b.bin"))".utf8, to: "list")
        try home.write("\(Self.sha256)  b.bin".utf8, to: "sums")
        let list = await home.run("get", "-i", home["list"], "-P", home.path, "--checksums", home["sums"])
        #expect(list.status == .refused && list.errors.contains("list, line 1: \(home["sums"]) contains no"))
        #expect(!home.has("a.bin") && home.has("b.bin"))
        // So do other arguments.
        let options = ["-P", home["out"], "--checksums", home["sums"], "--json"]
        let arguments = await home.run(["get", server.url("/a.bin"), server.url("/b.bin")] + options)
        #expect(arguments.status == .refused && arguments.errors.contains("argument 1: \(home["sums"]) contains no"))
        let failed = try arguments.json.first { $0["event"]?.string == "failed" }
        #expect(failed?["reason"]?.string == "no-checksum")
        #expect(!home.has("out/a.bin") && home.has("out/b.bin"))
    }

    @Test("Options of curl, wget and aria2 mean the same")
    func familiar() async throws {
        let server = try await home.serve(Self.handler)
        let url = server.url("/a.bin")
        let options = [
            ["-fsSLO"], ["-C", "-"], ["-C-"], ["--continue-at", "-"], ["-c"], ["--checksum=sha-256=\(Self.sha256)"],
            ["--checksum", "SHA-512=\(Self.sha512)"], ["-A", "agent/1", "-e", "http://h/", "-u", "me:pass:word"],
        ]
        for arguments in options {
            let outcome = await home.run(["get", url, "-P", home.path] + arguments).expect(.success)
            #expect(outcome.errors.isEmpty == (arguments == ["-fsSLO"]))
        }
        let fields = try #require(server.requests.last).fields
        func value(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
        #expect(value("user-agent") == "agent/1" && value("referer") == "http://h/")
        #expect(value("authorization") == "Basic bWU6cGFzczp3b3Jk")
        #expect(await home.run("get", "-fsSLo", home["named"], url).status == .success && home.has("named"))
        let count = server.requests.count
        let wrong = [
            ["-C", "100"], ["-u", "me"], ["-x", "ftp://h/"], ["--checksum", "md5=00"], ["-A", "a\nb"],
            ["--checksum=sha-256=\(Self.sha256)", "--sha256", Self.sha256],
            ["--checksums", home["sums"], "--sha256", Self.sha256],
            ["--checksums", home["sums"], "--skip-existing"],
        ]
        for arguments in wrong {
            await home.run(["get", url, "-P", home.path] + arguments).expect(.usage)
        }
        await home.run("get", url, "-P", home.path, "-x", "http://127.0.0.1:1", "--retries", "0").expect(.tryAgain)
        #expect(server.requests.count == count)
    }
}
