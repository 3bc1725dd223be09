import OriginServer
@testable import ResumeCommands
import Synchronization
import Testing

/// `-b` and `--cookie-jar`.
@Suite(.timeLimit(.minutes(20)))
struct CookieTests {
    private let home = Home()

    /// Redirects from 127.0.0.1 to localhost, which sets a cookie and redirects once more.
    private static let hops: @Sendable (OriginRequest) -> Response = { request in
        let host = request.field("host") ?? ""
        let name = host.replacing("127.0.0.1", with: "localhost")
        if host != name { return .status("302 Found", fields: [("Location", "http://\(name)/set")]) }
        guard request.path == "/set" else { return .file(Sample.resource, for: request) }
        return .status("302 Found", fields: [("Location", "/file.bin"), ("Set-Cookie", "session=s1; Path=/")])
    }

    private func cookies(_ options: [String], urls: [String] = ["/file.bin"]) async throws -> [String?] {
        try await OriginServer.withServer(handler: Self.hops) { server async throws in
            let get = ["get"] + urls.map { server.url($0) } + ["-P", home.path, "--restart", "-j", "1", "--overwrite"]
            await home.run(get + options).expect(.success)
            #expect(server.requests.allSatisfy { $0.fields("cookie").count <= 1 })
            return server.requests.map { $0.field("cookie") }
        }
    }

    @Test("A cookie that a redirect sets is sent to the next place, and belongs to one download")
    func ofDownload() async throws {
        #expect(try await cookies([]) == [nil, nil, "session=s1"])
        #expect(
            try await cookies([], urls: ["/file.bin", "/other.bin"]) == [
                nil, nil, "session=s1", nil, nil, "session=s1",
            ])
    }

    @Test("No cookie follows a redirect away from the host that a field names")
    func otherHost() async throws {
        let place = Mutex("")
        let server = try await home.serve { request in
            guard request.path == "/away" else { return .file(Sample.resource, for: request) }
            let fields = [("Location", place.withLock { $0 }), ("Set-Cookie", "session=s1; Path=/")]
            return .status("302 Found", fields: fields)
        }
        place.withLock { $0 = server.url("/file.bin").replacing("127.0.0.1", with: "localhost") }
        let outcome = await home.run(
            "get", server.url("/away"), "-o", home["out"], "-H", "Host: secret.example", "-b", "user=u")
        #expect(outcome.status == .success, "\(outcome.errors)")
        #expect(server.requests.map { $0.field("cookie") } == ["user=u", nil])
        #expect(server.requests.map { $0.field("host") == "secret.example" } == [true, false])
    }

    @Test("Cookies of the command line are sent to the origin of the URL only")
    func literal() async throws {
        #expect(try await cookies(["-b", "a=b; c=d", "-b", "e=f"]) == ["a=b; c=d; e=f", nil, "session=s1"])
        #expect(!String(decoding: try home.storedBytes(), as: UTF8.self).contains("a=b; c=d"))
    }

    @Test("A file in Netscape's format sends each cookie to its domain; Set-Cookie lines are for the origin")
    func file() async throws {
        let text = """
            # Netscape HTTP Cookie File
            127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tvalue
            #HttpOnly_localhost\tFALSE\t/\tFALSE\t0\thidden\tyes
            other.invalid\tFALSE\t/\tFALSE\t0\tother\tx
            127.0.0.1\tFALSE\t/\tFALSE\t1\texpired\tx
            HTTP/1.1 200 OK
            set-cookie: line=1; Path=/nowhere

            """
        try home.write(text.utf8, to: "cookies")
        let sent = try await cookies(["-b", home["cookies"]])
        let sets = sent.map { Set(($0 ?? "").split(separator: "; ").map(String.init)) }
        #expect(sets == [["name=value", "line=1"], ["hidden=yes"], ["hidden=yes", "session=s1"]])
    }

    @Test("All downloads share a jar, which is written at the end, for its owner only, and read by the next run")
    func jar() async throws {
        let option = ["--cookie-jar", home["jar"]]
        #expect(try await cookies(option) == [nil, nil, "session=s1"])
        #expect(String(decoding: try home.bytes("jar"), as: UTF8.self).hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(try home.mode("jar") == 0o600)
        #expect(try await cookies(option) == [nil, "session=s1", "session=s1"])
        #expect(try await cookies(["-b", home["jar"]], urls: ["/file.bin"]) == [nil, "session=s1", "session=s1"])
        #expect(try home.names().filter { $0.hasPrefix("jar") } == ["jar"])
    }

    @Test("A jar that cannot be written is mentioned; a device stays one")
    func unwritable() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out"], "--cookie-jar"]
        await home.run(get + [home["none/jar"]]).expect(.success, says: "cannot write the cookies to")
        #expect(await home.run(get + ["/dev/null"]).errors.contains("cookies") == false)
    }

    @Test("Cookies of a file are part of the identity, and a job asks for them again")
    func identity() async throws {
        func line(_ value: String, until time: Int = 0) -> String {
            "127.0.0.1\tFALSE\t/\tFALSE\t\(time)\tname\t\(value)\n"
        }
        try home.write(line("hunter2").utf8, to: "cookies")
        try await OriginServer.withServer(handler: Sample.cutOnce) { server async throws in
            let get = ["get", server.url(), "-o", home["out"], "--retries", "0"]
            await home.run(get + ["-b", home["cookies"]]).expect(.tryAgain)
            #expect(
                try await home.run("jobs", "--json").json.first?["needs"]?.array?.compactMap(\.string) == ["--cookie"])
            #expect(!String(decoding: try home.storedBytes(), as: UTF8.self).contains("hunter2"))
            await home.run("resume").expect(.refused, says: "needs --cookie")
            #expect(server.requests.count == 1)
            // The same cookies with another time are the same.
            try home.write(line("hunter2", until: 4_000_000_000).utf8, to: "cookies")
            await home.run("resume", "-b", home["cookies"]).expect(.success, says: "resumed at")
            #expect(server.requests.count == 2)
        }
        try home.write(line("hunter2").utf8, to: "cookies")
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url("/two"), "-o", home["two"], "--retries", "0"]
        await home.run(get + ["-b", home["cookies"]]).expect(.tryAgain)
        try home.write(line("other").utf8, to: "cookies")
        let other = await home.run(get + ["-b", home["cookies"]]).expect(.success)
        // Samples are compared first.
        #expect(server.requests.count > 2, "\(other.errors)")
    }

    @Test(
        "Wrong cookies are usage errors",
        arguments: [["-b", "/none/cookies"], ["-b", "a=\u{1}"], ["--cookie-jar", "http://h/"], ["-b"]])
    func usage(options: [String]) async throws {
        await home.run(["get", "http://127.0.0.1:9/f"] + options).expect(.usage, hides: "nknown option")
    }
}
