import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import TestSupport
import Testing

/// `adopt`, `get --from`, `verify --remote` and `--renew-command`.
@Suite(.timeLimit(.minutes(20)))
struct AdoptTests {
    private static let length: Int64 = 3_000_000
    private static let file = Resource(Content(length: length, seed: 4), etag: "\"v1\"")
    private static let other = Resource(Content(length: length, seed: 5), etag: "\"v2\"")
    private static let left: Int64 = 2_000_000
    private static let held: Int64 = 2_000_000 - 65_536

    private let home = Home()

    private func leave(_ name: String = "partial") throws -> [UInt8] {
        let bytes = Self.file.content.bytes(in: 0..<Self.left)
        try home.write(bytes, to: name)
        return bytes
    }

    @Test("Bytes of another program that differ are not kept, also if the file at the destination is unchanged")
    func differing() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        await home.run("get", server.url("/f.bin"), "-o", home["f.bin"]).expect(.success)
        try home.write([UInt8](repeating: 7, count: 100_000), to: "other")
        for _ in 0..<2 {
            await home.run("get", "--from", home["other"], server.url("/f.bin"), "-o", home["f.bin"]).expect(.success)
        }
        #expect(try await home.run("list", "--json").json.isEmpty)
        #expect(try home.bytes("other").count == 100_000)
    }

    @Test("J5: adopt copies and compares, and resume completes the file")
    func adopt() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        let bytes = try leave()
        let adopted = await home.run("adopt", home["partial"], server.url("/f.bin"), "-o", home["out.bin"], "--json")
        #expect(adopted.status == .success, "\(adopted.errors)")
        let json = try adopted.object
        #expect(json["event"]?.string == "adopted" && json["proof"]?.string == "samples")
        #expect(json["heldBytes"]?.integer == Self.held && json["totalBytes"]?.integer == Self.length)
        #expect(try #require(json["agreedSamples"]?.integer) >= 128)
        #expect(json["program"]?.string == "curl or wget")
        #expect(try home.bytes("partial") == bytes)
        let before = server.bodyBytesSent
        let resumed = await home.run("resume", "--json").expect(.success)
        #expect(try resumed.json.last?["proved"]?.bool == false)
        #expect(try #require(try resumed.json.last?["agreedSamples"]?.integer) >= 128)
        #expect(server.bodyBytesSent - before == Self.length - Self.held + 4096)
        #expect(Self.file.content.matches(try home.bytes("out.bin")))
        #expect(try home.bytes("partial") == bytes)
    }

    @Test("J5: adopt says what it found: another file, nothing, no URL, a server that does not answer")
    func adoptFailures() async throws {
        let server = try await home.serve { .file(Self.other, for: $0) }
        _ = try leave()
        let url = server.url("/f.bin")
        await home.run("adopt", home["partial"], url).expect(.refused, says: "nothing was adopted")
        #expect(await home.run("list").output.contains("f.bin") == false)
        await home.run("adopt", home["absent"], url).expect(.notFound)
        try home.write(Array("small".utf8), to: "small")
        await home.run("adopt", home["small"], url).expect(.notFound)
        await home.run("adopt", home["partial"]).expect(.usage)
        await home.run("adopt", url, home["partial"]).expect(.usage)
        server.setHandler { _ in .status("403 Forbidden") }
        await home.run("adopt", home["partial"], url).expect(.success, prints: "not compared yet")
        #expect(await home.run("adopt", home["partial"], url).status == .refused, "the store has it already")
        server.setHandler { .file(Self.file, for: $0) }
        await home.run("get", url, "-o", home["out.bin"]).expect(.success)
        #expect(Self.file.content.matches(try home.bytes("out.bin")))
    }

    @Test("A partial file that cannot be read leaves no job, which would fetch the file without it")
    func unreadable() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        for command in [
            ["get", "--from", home["none"], server.url("/f.bin"), "-o", home["f.bin"]],
            ["adopt", home["none"], server.url("/f.bin")],
        ] {
            await home.run(command).expect(.notFound, says: "cannot read \(home["none"]): No such file")
        }
        #expect(await home.run("jobs", "--all").output.isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test("A named pipe is no partial file, and no writer is waited for")
    func pipe() async throws {
        try #require(mkfifo(home["pipe"], 0o600) == 0)
        for command in [
            ["get", "--from", home["pipe"], "http://127.0.0.1:9/f.bin", "-o", home["f.bin"]],
            ["adopt", home["pipe"], "http://127.0.0.1:9/f.bin"],
        ] {
            await home.run(command).expect(.io, says: "pipe is not a file")
        }
    }

    @Test("J5: get --from continues the file of another program, also in place, and starts over if it differs")
    func from() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        _ = try leave("f.bin")
        let got = await home.run("get", "--from", home["f.bin"], server.url("/f.bin"), "-o", home["f.bin"])
        #expect(got.status == .success && got.errors.contains("samples of the stored data agree"), "\(got.errors)")
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
        #expect(server.bodyBytesSent < Self.length - Self.held + 700_000)

        _ = try leave()
        server.setHandler { .file(Self.other, for: $0) }
        let changed = await home.run(
            "get", "--from", home["partial"], server.url("/g.bin"), "-o", home["g.bin"], "--json")
        #expect(try changed.json.contains { $0["reason"]?.string == "spot-check-differs" })
        #expect(try changed.json.last?["proved"]?.bool == true)
        #expect(Self.other.content.matches(try home.bytes("g.bin")))
        await home.run("get", "--from", "x", server.url("/h"), "--range", "0-9").expect(.usage)
    }

    @Test("J5: a file that may be the beginning is named before it is replaced; --restart --from continues with it")
    func replaced() async throws {
        let cut: @Sendable (OriginRequest) -> Response = { .file(Self.file, for: $0, cutAfter: 100_000) }
        let server = try await home.serve(cut)
        let bytes = try leave("f.bin")
        let get = ["get", server.url("/f.bin"), "-o", home["f.bin"]]
        let first = await home.run(get + ["--retries", "0"])
        let hint = "\(home["f.bin"]): replaces a file of 1.9 MiB when it is complete. If curl or wget has left that"
        #expect(first.status == .tryAgain && first.errors.contains(hint), "\(first.errors)")
        #expect(first.errors.contains("'resumectl get --restart --from \(home["f.bin"]) -o \(home["f.bin"])' with"))
        #expect(try home.bytes("f.bin") == bytes)
        server.setHandler { .file(Self.file, for: $0) }
        let before = server.bodyBytesSent
        // What is not proved is not recorded.
        let digest = try #require(
            HTTPDigest(.sha256, of: Self.file.bytes)?.hexadecimal)
        await home.run(get + ["--restart", "--from", home["f.bin"], "--sha256", digest]).expect(.success)
        #expect(server.bodyBytesSent - before < Self.length - Self.held + 700_000)
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
        // What this store has delivered needs no hint, and neither does a longer file.
        let second = ["get", server.url("/g.bin"), "-o", home["g.bin"]]
        await home.run(second).expect(.success)
        server.setHandler { .file(Resource(Content(length: 5_000_000, seed: 6), etag: "\"v3\""), for: $0) }
        let other = await home.run(second)
        #expect(other.errors == "\(home["g.bin"]): done, 4.8 MiB, new version\n", "\(other.errors)")
        // N2: also if another command, with a digest, has delivered it.
        let short: [UInt8] = [1] + Self.file.bytes
        server.setHandler { .file(Resource(Content(short), etag: "\"v4\""), for: $0) }
        let own = try #require(HTTPDigest(.sha256, of: short)?.hexadecimal)
        let name = home["own.bin"]
        await home.run("get", server.url("/short.bin"), "-o", name, "--sha256", own).expect(.success)
        server.setHandler { .file(Resource(Content(length: 5_000_000, seed: 6), etag: "\"v3\""), for: $0) }
        await home.run("get", server.url("/g.bin"), "-o", name).expect(.success, hides: "curl or wget")
        try home.write([UInt8](repeating: 1, count: 6_000_000), to: "long.bin")
        let long = await home.run("get", server.url("/long.bin"), "-o", home["long.bin"])
        #expect(long.errors == "\(home["long.bin"]): done, 4.8 MiB, replaced the file that was there\n", "\(long)")
    }

    @Test("J5: a file that the server does not have is not adopted")
    func missing() async throws {
        let server = try await home.serve { _ in .status("404 Not Found") }
        try home.write(Array(Self.file.content.bytes(in: 0..<1_500_000)), to: "f.bin")
        await home.run("adopt", home["f.bin"], server.url("/none")).expect(.refused, says: "404 Not Found")
        #expect(await home.run("jobs").output.isEmpty)
        #expect(try home.bytes("f.bin").count == 1_500_000)
    }

    @Test("J5: verify --remote compares samples and changes nothing")
    func remote() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_500_000) }
        let url = server.url("/f.bin")
        await home.run("get", url, "-o", home["f.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler { .file(Self.file, for: $0) }
        await home.run("verify", "--remote", url).expect(.success, prints: "samples of 1.4 MiB agree")
        #expect(try await home.run("verify", "--remote", url, "--json").object["result"]?.string == "agrees")
        // The same tag with other bytes.
        let silent = Resource(Self.other.content, etag: "\"v1\"")
        for resource in [silent, Self.other] {
            server.setHandler { .file(resource, for: $0) }
            let differs = await home.run("verify", "--remote", url, "--json").expect(.damaged)
            #expect(try differs.object["result"]?.string == "differs")
        }
        server.setHandler { _ in .file(Self.file, for: .init()) }
        #expect(try await home.run("verify", "--remote", url, "--json").object["result"]?.string == "not-compared")
        server.setHandler { .file(Self.file, for: $0) }
        await home.run("get", url, "-o", home["f.bin"]).expect(.success)
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
        await home.run("verify", "--remote").expect(.usage)
        await home.run("verify", "-H", "A: b").expect(.usage)
    }

    @Test("J5: verify --remote compares each of two stored versions of a file with the server's")
    func remoteVariants() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_500_000) }
        let url = server.url("/f.bin")
        let get = ["get", url, "-o", home["f.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        server.setHandler { .file(Self.other, for: $0, cutAfter: 1_000_000) }
        await home.run(get).expect(.tryAgain)
        for (resource, results) in [(Self.file, ["agrees", "differs"]), (Self.other, ["differs", "agrees"])] {
            server.setHandler { .file(resource, for: $0) }
            for (key, result) in zip([url, "\(url)#variant=2"], results) {
                let line = try await home.run("verify", "--remote", key, "--json").object
                #expect(line["key"]?.string == key && line["result"]?.string == result, "\(line)")
            }
        }
    }

    @Test("E13: verify --remote sends header fields to one server only")
    func remoteFields() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { .file(Self.file, for: $0, cutAfter: 1_500_000) }
        let first = try await home.serve(handler)
        let second = try await home.serve(handler)
        let urls = [first.url("/f.bin"), second.url("/g.bin")]
        for (url, name) in zip(urls, ["f.bin", "g.bin"]) {
            await home.run("get", url, "-o", home[name], "--retries", "0").expect(.tryAgain)
        }
        let counts = [first.requests.count, second.requests.count]
        let refused = await home.run("verify", "--remote", urls[0], urls[1], "-H", "Authorization: Bearer x")
        #expect(refused.status == .usage && refused.errors.contains("one server"), "\(refused.errors)")
        #expect([first.requests.count, second.requests.count] == counts)
    }

    @Test("E14: the mark of a connection cannot be written in a key")
    func markInKey() async throws {
        let outcome = await home.run("get", "http://127.0.0.1:9/f", "-o", home["f"], "--key", "K#connection:unverified")
        #expect(outcome.status == .usage && outcome.errors.contains("--key must not contain"), "\(outcome.errors)")
    }

    @Test(
        "A4: from another URL, samples are compared: the same tag there proves nothing, and another one is no obstacle")
    func otherURL() async throws {
        let untagged = Resource(Self.file.content, etag: "\"mirror\"")
        let silent = Resource(Self.other.content, etag: "\"v1\"")
        for (mirror, isSame) in [(Self.file, true), (untagged, true), (silent, false), (Self.other, false)] {
            let home = Home()
            try await OriginServer.withServer(handler: { .file(Self.file, for: $0, cutAfter: 1_500_000) }) {
                server async throws in
                let url = server.url("/f.bin")
                await home.run("get", url, "-o", home["f.bin"], "--retries", "0").expect(.tryAgain)
                let sent = server.bodyBytesSent
                server.setHandler { request in
                    request.path == "/mirror.bin" ? .file(mirror, for: request) : .status("404 Not Found")
                }
                let got = await home.run("resume", url, "--url", server.url("/mirror.bin"), "--json").expect(.success)
                let result = try #require(try got.json.last)
                #expect(mirror.content.matches(try home.bytes("f.bin")))
                #expect(result["proved"]?.bool == !isSame)
                #expect((result["agreedSamples"]?.integer ?? 0 >= 128) == isSame)
                if isSame { #expect(server.bodyBytesSent - sent < Self.length - 1_500_000 + 700_000) }
            }
        }
    }

    @Test("A4: what resume has continued from another URL is continued from there by the next run")
    func otherURLStays() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_000_000) }
        let url = server.url("/f.bin")
        await home.run("get", url, "-o", home["f.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler { _ in .status("404 Not Found") }
        await home.run("resume", url, "--url", server.url("/mirror.bin")).expect(.refused)
        server.setHandler { request in
            request.path == "/mirror.bin" ? .file(Self.file, for: request) : .status("404 Not Found")
        }
        await home.run("jobs", "--all").expect(prints: "/mirror.bin")
        await home.run("resume", home["f.bin"]).expect(.success)
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
        #expect(!server.requests.suffix(2).contains { $0.path == "/f.bin" })
    }

    @Test("A4: get --key continues from another URL or query after samples, and under a digest without them")
    func otherKey() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_000_000) }
        let cut = await home.run("get", "--key", "mine", server.url("/a?x=1"), "-o", home["f.bin"], "--retries", "0")
        #expect(cut.status == .tryAgain)
        server.setHandler { .file(Self.file, for: $0, cutAfter: 600_000) }
        let count = server.requests.count
        let again = await home.run("get", "--key", "mine", server.url("/a?x=2"), "-o", home["f.bin"], "--retries", "0")
        #expect(again.status == .tryAgain && server.requests.count > count + 3, "samples were compared")
        let compared = server.requests.count
        server.setHandler { .file(Self.file, for: $0) }
        let digest = try #require(HTTPDigest(.sha256, of: Self.file.bytes))
        let got = await home.run(
            "get", "--key", "mine", server.url("/b"), "-o", home["f.bin"], "--sha256", digest.hexadecimal, "--json")
        #expect(got.status == .success, "\(got.errors)")
        #expect(try got.json.last?["proved"]?.bool == true)
        #expect(server.requests.count <= compared + 2, "no samples")
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
        await home.run("resume", "--url", server.url("/b")).expect(.usage)
    }

    /// Serves a file only to requests with a valid signature or credentials.
    private static let guarded: @Sendable (OriginRequest) -> Response = { request in
        request.target.contains("token=good") || request.field("Authorization") == "Bearer good"
            ? .file(file, for: request) : .status("403 Forbidden")
    }

    private func script(_ text: String) throws -> String {
        try home.write(Array("#!/bin/sh\n\(text)\n".utf8), to: "renew")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: home["renew"])
        return home["renew"]
    }

    @Test("A4: a program prints a fresh URL or header fields when the server refuses a request")
    func renewal() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_000_000) }
        let url = server.url("/f.bin?token=old")
        await home.run("get", url, "-o", home["f.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler(Self.guarded)
        await home.run("get", url, "-o", home["f.bin"]).expect(.refused, says: "--renew-command")
        let sent = server.bodyBytesSent
        let program = try script(
            """
            echo "$RESUMECTL_KEY $RESUMECTL_URL $RESUMECTL_STATUS $#" > \(home["seen"])
            echo "$RESUMECTL_URL?token=good"
            """)
        await home.run("get", url, "-o", home["f.bin"], "--renew-command", "\(program) one two").expect(.success)
        let plain = server.url("/f.bin")
        #expect(String(decoding: try home.bytes("seen"), as: UTF8.self) == "\(plain) \(plain) 403 2\n")
        #expect(server.bodyBytesSent - sent < 2_100_000)
        #expect(Self.file.content.matches(try home.bytes("f.bin")))

        let fields = try script("echo 'Authorization: Bearer good'")
        await home.run(
            "get", plain, "-o", home["i.bin"], "-H", "X-Other: kept", "-H", "Authorization: Bearer old",
            "--renew-command", fields
        ).expect(.success)
        #expect(server.requests.last?.field("X-Other") == "kept")
        #expect(server.requests.last?.fields("Authorization") == ["Bearer good"])
        await home.run("get", plain, "-o", home["g.bin"], "--renew-command", fields).expect(.success)
        await home.run(
            "get", server.url("/h.bin"), "-o", home["h.bin"], "--renew-shell", "--renew-command",
            "echo \"$RESUMECTL_URL\"'?token=good' && true"
        ).expect(.success)
    }

    @Test("A4: a program that fails, prints something else or does not exist ends the download; nothing is shown of it")
    func renewalFailures() async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: 1_000_000) }
        let url = server.url("/f.bin")
        await home.run("get", url, "-o", home["f.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler(Self.guarded)
        let cases = [
            ("exit 3", "exit status 3"), ("kill -9 $$", "signal 9"), ("echo secret", "neither a URL nor a header"),
            ("head -c 1000000 /dev/zero | tr '\\0' x", "more than"), ("true", "403"),
        ]
        for (text, words) in cases {
            await home.run("resume", "--renew-command", try script(text)).expect(.refused, says: words, hides: "secret")
        }
        await home.run("resume", "--renew-command", home["absent"]).expect(.refused, says: "cannot be run")
        #expect(await home.run("resume", "-H", "Authorization: Bearer good").status != .success, "not needed")
        let fields = try script("echo 'Authorization: Bearer good'")
        await home.run("resume", "--renew-command", fields).expect(.success)
        #expect(Self.file.content.matches(try home.bytes("f.bin")))
    }
}
