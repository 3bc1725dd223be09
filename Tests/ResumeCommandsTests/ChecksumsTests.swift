import OriginServer
@testable import ResumeCommands
import ResumeHTTP
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

    /// What `gpg --print-md` and `--print-mds` print, with names of several lengths.
    private static let ofGPG = [
        "a.bin: BA7816BF 8F01CFEA 414140DE 5DAE2223 B00361A3 96177A9C B410FF61 F20015AD",
        "dir/a.bin: \nBA7816BF 8F01CFEA 414140DE 5DAE2223 B00361A3 96177A9C B410FF61 F20015AD\n",
        """
        a.bin: DDAF35A1 93617ABA CC417349 AE204131 12E6FA4E 89A97EA2 0A9EEEE6 4B55D39A
               2192992A 274FC1A8 36BA3C23 A3FEEBBD 454D4423 643CE80E 2A9AC94F A54CA49F
        """,
        """
        a.bin:    MD5 = 90 01 50 98 3C D2 4F B0  D6 96 3F 7D 28 E1 7F 72
        a.bin:   SHA1 = A999 3E36 4706 816A BA3E  2571 7850 C26C 9CD0 D89D
        a.bin: RMD160 = 8EB2 08F7 E05D 987A 9B04  4A8E 98C6 B087 F15A 0BFC
        a.bin: SHA256 = BA7816BF 8F01CFEA 414140DE 5DAE2223 B00361A3 96177A9C B410FF61
                        F20015AD
        a.bin: SHA384 = CB00753F 45A35E8B B5A03D69 9AC65007 272C32AB 0EDED163 1A8B605A
                        43FF5BED 8086072B A1E7CC23 58BAECA1 34C825A7
        """,
    ]

    private static let utf16 = [UInt8]("\(sha256)  a.bin\r\n".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] })

    /// Lists that other programs write.
    private static let others: [[UInt8]] =
        ofGPG.map { Array($0.utf8) }
        + [
            "\(sha256)\ta.bin", "a.bin \(sha256)", "a.bin: \(sha256)", "a.bin\t\(sha256)\n", "sha256:\(sha256)  a.bin",
            "sha256:\(sha256)", "SHA-256:\(sha256) *a.bin", "\(sha256)  dir\\a.bin", "\(sha256)  C:\\x\\a.bin",
            "\(other)  b.bin\r\n\(sha256)  a.bin\r\n", "\u{FEFF}\(sha256)  a.bin", "\\\(sha256)  dir\\nx/a.bin",
            "SHA256 (a.bin) = \(sha256)\nb.bin: 00000000 00000000", "# a.bin: 0000 0000\n\(sha256)  a.bin",
        ].map { Array($0.utf8) } + [[0xFF, 0xFE] + utf16, [0xFE, 0xFF] + swapped(utf16)]

    private static func swapped(_ bytes: [UInt8]) -> [UInt8] { bytes.indices.map { bytes[$0 ^ 1] } }

    @Test("Lists of other programs are read", arguments: others.indices)
    func read(index: Int) throws {
        let list = try Checksums(in: Self.others[index], of: "list")
        let digest = try list.digest(ofPath: "/dir/a.bin")
        #expect([Self.sha256, Self.sha512].contains(digest.hexadecimal))
    }

    @Test("A name with a hundred thousand lines is found in one pass")
    func sameNames() throws {
        let lines = (0..<100_000).map { "\(Self.other)  d\($0)/a.bin\n" }.joined()
        let list = try Checksums(in: Array("\(lines)\(Self.sha256)  dir/a.bin".utf8), of: "list")
        #expect(try list.digest(ofPath: "/dir/a.bin").hexadecimal == Self.sha256)
    }

    @Test("The names count that a redirect and the server give the file", arguments: [[], ["-J"]])
    func namedByTheResponse(options: [String]) async throws {
        let server = try await home.serve { request in
            if request.path == "/latest" { return .status("302 Found", fields: [("Location", "/x/image-2.iso")]) }
            var resource = Resource(Content("abc"), etag: "\"v1\"")
            if request.path == "/named" {
                resource.extraFields = [("Content-Disposition", "attachment; filename=image-2.iso")]
            }
            return .file(resource, for: request)
        }
        let get = ["get", "-P", home["out"], "--checksums", home["sums"]] + options
        let path = options.isEmpty ? "/latest" : "/named"
        try home.write("\(Self.other)  image-2.iso\n\(Self.sha256)  image-1.iso\n".utf8, to: "sums")
        await home.run(get + [server.url(path)]).expect(.refused, says: "does not have the expected SHA-256")
        #expect(try home.names(in: "out").isEmpty)
        // Without the list, nothing says which digest it must have.
        await home.run("resume", server.url(path)).expect(.refused, says: "run the same 'resumectl get' again")
        try home.write("\(Self.sha256)  image-2.iso\n".utf8, to: "sums")
        for _ in 1...2 {
            await home.run(get + [server.url(path)]).expect(.success)
            #expect(try home.names(in: "out") == [options.isEmpty ? "latest" : "image-2.iso"])
        }
        let none = server.url("/y/other.iso")
        await home.run(get + [none]).expect(.refused, says: "contains no checksum of \(none)")
        #expect(!home.has("out/other.iso"))
    }

    @Test("The name that is given with -o is found too")
    func output() async throws {
        let server = try await home.serve(Self.handler)
        for (digest, status) in [(Self.sha256, ExitStatus.success), (Self.other, .refused)] {
            try home.write("\(digest)  image.iso\n".utf8, to: "sums")
            await home.run("get", server.url("/latest"), "-o", home["image.iso"], "--checksums", home["sums"])
                .expect(status)
        }
        try home.write("\(Self.sha256)  image.iso\n\(Self.other)  latest\n".utf8, to: "sums")
        // That of the URL comes first.
        await home.run("get", server.url("/latest"), "-o", home["image.iso"], "--checksums", home["sums"])
            .expect(.refused)
    }

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
            "\(Self.sha256)  b.bin": "contains no checksum of \(server.url("/a.bin"))",
            "\(Self.sha256)  a.bin\n\(Self.other)  a.bin":
                "contains different checksums for \(server.url("/a.bin"))",
            "\(Self.sha256)\n\(Self.other)": "contains different checksums for",
        ]
        for (text, message) in cases {
            try home.write(text.utf8, to: "sums")
            let outcome = await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["sums"])
            #expect(outcome.status == .refused && outcome.errors.contains("argument 1: \(home["sums"]) \(message)"))
        }
        try home.write("352441c2  a.bin\n".utf8, to: "sums")
        let crc = await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["sums"])
        let reason = "sums contains no checksums of SHA-256, SHA-512, SHA-1 or MD5"
        #expect(crc.status == .refused && crc.errors.contains(reason))
        await home.run("get", server.url("/a.bin"), "-P", home.path, "--checksums", home["none"]).expect(.notFound)
        #expect(!home.has("a.bin"))
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

    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"
    private static let sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d"

    @Test(
        "MD5 and SHA-1 are compared, and prove nothing",
        arguments: [
            "\(md5)  a.bin\n", "MD5 (a.bin) = \(md5)", "\(sha1) *a.bin", "SHA1 (a.bin) = \(sha1)",
            "a.bin: 90 01 50 98 3C D2 4F B0  D6 96 3F 7D 28 E1 7F 72",
            "a.bin:   SHA1 = A999 3E36 4706 816A BA3E  2571 7850 C26C 9CD0 D89D",
        ])
    func weak(list: String) async throws {
        let server = try await home.serve(Self.handler)
        try home.write(list.utf8, to: "sums")
        let get = ["get", server.url("/a.bin"), "-P", home["out"], "--checksums", home["sums"]]
        let json = try await home.run(get + ["--json"]).expect(.success).json
        let finished = try #require(json.first { $0["event"]?.string == "finished" })
        #expect(finished["proved"]?.bool == false && finished["reason"]?.string == "weak-digest")
        let isMD5 = list.contains("MD5") || list.contains(Self.md5) || list.contains("90 01")
        #expect((isMD5 ? finished["md5"] : finished["sha1"])?.string == (isMD5 ? Self.md5 : Self.sha1))
        let again = await home.run(get + ["--restart"]).expect(.success)
        #expect(again.errors.contains(" (not proved: MD5 and SHA-1 can be forged; they show damage only)"))
        let verify = await home.run("verify", home["out/a.bin"], "--checksums", home["sums"]).expect(.success)
        #expect(verify.output.contains("verified"))
        // A stronger one in the same list is taken.
        try home.write("\(list)\n\(Self.other)  a.bin".utf8, to: "sums")
        await home.run("verify", home["out/a.bin"], "--checksums", home["sums"]).expect(.damaged)
    }

    @Test("A file with another MD5 or SHA-1 is not delivered", arguments: ["md5", "sha-1"])
    func otherWeak(algorithm: String) async throws {
        let server = try await home.serve(Self.handler)
        let digits = String(repeating: "0", count: algorithm == "md5" ? 32 : 40)
        let url = server.url("/a.bin")
        let get = await home.run("get", url, "-P", home.path, "--checksum", "\(algorithm)=\(digits)").expect(.refused)
        #expect(get.errors.contains("does not have the expected \(algorithm.uppercased()): expected \(digits)"))
        #expect(!home.has("a.bin"))
        let output = await home.run("get", url, "-o", "-", "--checksum", "\(algorithm)=\(digits)")
        #expect(output.status == .refused && output.output.isEmpty)
        // It is remembered that this file is not the right one: without the digest, the server is asked again.
        let count = server.requests.count
        await home.run("get", url, "-P", home.path).expect(.success)
        #expect(server.requests.count > count)
    }

    @Test("MD5 and SHA-1 make no file this program's, and replace no SHA-256", arguments: ["md5", "sha-1"])
    func weakInPlace(algorithm: String) async throws {
        let server = try await home.serve(Self.handler)
        let digits = algorithm == "md5" ? Self.md5 : Self.sha1
        let get = ["get", server.url("/a.bin"), "-P", home.path]
        let weak = ["--checksum", "\(algorithm)=\(digits)"]
        try home.write("abc".utf8, to: "a.bin")
        // The server is asked, and the file stays that of somebody else.
        let same = await home.run(get + weak).expect(.success)
        #expect(same.errors.contains("the server has the same bytes") && !server.requests.isEmpty, "\(same.errors)")
        // A SHA-256 that is recorded stays.
        await home.run(get + ["--sha256", Self.sha256, "--overwrite", "--restart"]).expect(.success)
        try home.write("\(digits)  a.bin".utf8, to: "sums")
        await home.run("verify", home["a.bin"], "--checksums", home["sums"]).expect(.success)
        let shown = try await home.run("show", home["a.bin"], "--json").expect(.success).object
        #expect(shown["sha256"]?.string == Self.sha256, "\(shown)")
    }

    @Test(
        "A SHA-256 of the list counts, whatever else the list or a line has",
        arguments: [
            ("%  a.bin\n\(md5)  out/a.bin\n", ""), ("%\ncommit \(sha1)\n", ""), ("%\nMD5 (a.bin) = \(md5)\n", ""),
            ("%  a.bin\n", "checksum=md5=\(md5)"), ("%  b.bin\n", "checksum=sha-256=%\n  checksum=md5=\(md5)"),
        ])
    func strongest(list: String, options: String) async throws {
        let server = try await home.serve(Self.handler)
        for (digest, status) in [(Self.sha256, ResumeCommands.ExitStatus.success), (Self.other, .refused)] {
            try home.write(list.replacing("%", with: digest).utf8, to: "sums")
            let lines = "\(server.url("/out/a.bin"))\n  \(options.replacing("%", with: digest))\n"
            try home.write(lines.utf8, to: "urls")
            let get = ["get", "-i", home["urls"], "-P", home.path, "--checksums", home["sums"]]
            let outcome = await home.run(get).expect(status)
            #expect(outcome.errors.contains("SHA-256"), "\(outcome.errors)")
        }
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
