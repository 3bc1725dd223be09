import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// Partial files that other programs have really left, and those of programs that are not installed, made to their
/// documented formats.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct AdoptProgramTests {
    private static let length: Int64 = 12_000_000
    private static let file = Resource(Content(length: length, seed: 14), etag: "\"v1\"")
    private static let other = Resource(Content(length: length, seed: 15), etag: "\"v2\"")

    /// For files that no program has to be stopped at.
    private static let small = Resource(Content(length: 3_000_000, seed: 16), etag: "\"v1\"")

    private let home = Home()

    /// A program, and how it is made to leave a partial file.
    struct Program: Sendable, CustomTestStringConvertible {
        var name: String
        /// The file that it leaves.
        var partial = "f.bin"
        var arguments: @Sendable (_ url: String, _ folder: String) -> [String]
        var signal = SIGKILL
        var testDescription: String { name }
    }

    private static let programs = [
        Program(name: "curl", arguments: { ["-s", "-o", "\($1)/f.bin", $0] }),
        Program(name: "wget", arguments: { ["-q", "-O", "\($1)/f.bin", $0] }),
        Program(
            name: "aria2c",
            arguments: {
                [
                    "-q", "--no-conf", "-x4", "-s4", "-k1M", "--file-allocation=none", "--auto-save-interval=1", "-d",
                    $1, "-o", "f.bin", $0,
                ]
            }),
        // It saves its state when it is ended.
        Program(name: "axel", arguments: { ["-q", "-n", "4", "-o", "\($1)/f.bin", $0] }, signal: SIGTERM),
        Program(
            name: "yt-dlp", partial: "f.bin.part",
            arguments: { ["-q", "--no-config", "--force-generic-extractor", "-o", "\($1)/f.bin", $0] }),
    ]

    /// Runs a program until it has received a part of the file, and ends it.
    private func leave(_ program: Program, by server: OriginServer) async throws -> ForeignPartial {
        server.setHandler { .file(Self.file, for: $0, bytesPerSecond: 1_500_000) }
        let process = try Shell.start(program.name, program.arguments(server.url("/f.bin"), home.path))
        let deadline = ContinuousClock.now + .seconds(120)
        let path = home[program.partial]
        while ContinuousClock.now < deadline {
            let size = (try? home.bytes(program.partial).count) ?? 0
            let held = (try? ForeignPartial(examining: path).heldBytes) ?? 0
            // axel has written nothing about its file yet, but has begun to write each quarter of it.
            if program.signal == SIGKILL ? held > 4_000_000 : size > 10_200_000 { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        process.send(program.signal)
        _ = await process.wait()
        return try ForeignPartial(examining: path)
    }

    @Test("J5: get names what another program has left beside the destination, and does not touch it")
    func mention() async throws {
        let server = try await home.serve { .file(Resource(Content("bytes")), for: $0) }
        for (index, suffix) in [".aria2", ".st", ".part", ".crdownload"].enumerated() {
            let name = "\(index).bin"
            try home.write("foreign".utf8, to: name + suffix)
            let get = ["get", "-P", home.path, server.url("/\(name)")]
            let data = suffix.hasPrefix(".a") || suffix.hasPrefix(".s") ? home[name] : home[name + suffix]
            await home.run(get).expect(.success, says: "run 'resumectl get --from \(data)' and the URL")
            #expect(await home.run(get + ["-q"]).errors.isEmpty)
            #expect(try home.bytes(name + suffix) == Array("foreign".utf8))
        }
        // Firefox creates an empty file with the final name.
        for (name, partial) in [("f.tar.gz", "f.tar.ukGJn4ZO.gz.part"), ("plain", "plain.ukGJn4ZO.part")] {
            try home.write([], to: name)
            try home.write("foreign".utf8, to: partial)
            try home.write("foreign".utf8, to: "other." + partial)
            let errors = await home.run("get", "-P", home.path, server.url("/\(name)")).errors
            #expect(errors.contains("run 'resumectl get --from \(home[partial])' and the URL"), "\(errors)")
        }
    }

    @Test("J5: what a real program has left is kept; if the file has changed, it is fetched again", arguments: programs)
    func real(program: Program) async throws {
        guard Shell.has(program.name) else {
            print("adoption: \(program.name) is not installed")
            return
        }
        let server = try await home.serve { .file(Self.file, for: $0) }
        let left = try await leave(program, by: server)
        try #require(left.heldBytes > 1_000_000)
        let bytes = try home.bytes(program.partial)

        server.setHandler { .file(Self.other, for: $0) }
        let changed = await home.run("get", "--from", left.path, server.url("/g.bin"), "-o", home["changed"], "--json")
        #expect(changed.status == .success, "\(changed.errors)")
        #expect(try changed.json.contains { $0["event"]?.string == "restarted" })
        #expect(Self.other.content.matches(try home.bytes("changed")))

        server.setHandler { .file(Self.file, for: $0) }
        let got = await home.run("get", "--from", left.path, server.url("/f.bin"), "-o", home["out"], "--json")
        #expect(got.status == .success, "\(got.errors)")
        let result = try #require(try got.json.last)
        #expect(result["proved"]?.bool == false)
        #expect(try #require(result["agreedSamples"]?.integer) >= 128)
        #expect(Self.file.content.matches(try home.bytes("out")))
        #expect(try home.bytes(program.partial) == bytes, "the file of the other program is not changed")
        let fetched = try #require(result["fetchedBytes"]?.integer)
        #expect(fetched < Self.length - left.heldBytes + 800_000)
        print(
            "adoption: \(program.name) (\(left.program.rawValue)) left \(left.heldBytes) bytes in "
                + "\(left.ranges.count) ranges; fetched \(fetched) of \(Self.length)")
    }

    /// What a server says about its file beside the bytes.
    enum Proof: CaseIterable {
        case none, tag, field, otherAlgorithm, tooShort

        func resource(_ content: Content, _ digest: HTTPDigest) -> Resource {
            var file = Resource(content, etag: self == .tag ? "\"\(digest.hexadecimal)\"" : "\"v1\"")
            switch self {
            case .none, .tag: break
            case .field: file.extraFields = [("Repr-Digest", digest.fieldValue)]
            case .otherAlgorithm: file.extraFields = [("Repr-Digest", "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:")]
            case .tooShort: file.extraFields = [("Repr-Digest", "sha-256=:AAAA:")]
            }
            return file
        }
    }

    @Test(
        "J5: files of browsers, huggingface_hub and git-lfs, made to their formats",
        arguments: ["f.bin.crdownload", "f.bin.part", "HASH.incomplete", "incomplete/HASH.part"], Proof.allCases)
    func made(name: String, proof: Proof) async throws {
        let digest = try #require(HTTPDigest(.sha256, of: Self.small.bytes))
        let file = proof.resource(Self.small.content, digest)
        let server = try await home.serve { .file(file, for: $0) }
        let isNamed = name.contains("HASH")
        let name = name.replacing("HASH", with: digest.hexadecimal)
        try FileManager.default.createDirectory(atPath: home["incomplete"], withIntermediateDirectories: true)
        try home.write(Self.small.content.bytes(in: 0..<2_000_000), to: name)
        let got = await home.run("get", "--from", home[name], server.url("/f.bin"), "-o", home["out"], "--json")
        #expect(got.status == .success, "\(got.errors)")
        let result = try #require(try got.json.last)
        // The writer of the file has named it; it is the server's digest if that sends it, too.
        let isProved = proof == .field || isNamed && proof == .tag
        #expect(result["proved"]?.bool == isProved)
        if isNamed { #expect(result["sha256"]?.string == digest.hexadecimal) }
        // What is not proved is not taken for the server's file later.
        let again = await home.run("get", server.url("/f.bin"), "-o", home["out"], "--json").expect(.success)
        #expect(try again.json.last?["fetchedBytes"]?.integer == (isProved ? nil : Self.small.content.length))
        #expect(Self.small.content.matches(try home.bytes("out")))
        #expect(try #require(result["fetchedBytes"]?.integer) < 1_900_000)
    }
}
