import Foundation
import OriginServer
import TestSupport
import Testing

/// `get -o -` as a separate process that writes to a pipe: what its reader gets, and how much memory it uses.
///
/// `Benchmarks/interrupted-output.py` measures a GiB.
@Suite(
    .serialized, .timeLimit(.minutes(20)), .enabled(if: Bound.isMeasured && Shell.has("bash"), "needs Python and bash"))
struct PipedOutputTests {
    @Temporary private var folder
    private let servers = Servers()
    private static let content = Content(length: 64 << 20, seed: 22)
    /// What each response contains before it is cut or reset.
    private static let part: Int64 = 1 << 20
    private static let interruptions = 55

    /// Runs `get -o - URL | cat > FILE` with the exit status of the first program.
    private static func pipe(_ url: String, to path: String, reader: String = "cat") async throws -> MeasuredGet {
        try await MeasuredGet.run(
            url, ["--output", "-", "--retries", "5"],
            wrapper: ["bash", "-c", "set -o pipefail; \"$@\" | (\(reader)) > \"$0\"", path])
    }

    private static func size(of path: String) -> Int64 {
        ((try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int).map(Int64.init) ?? 0
    }

    /// Whether a file is the beginning of the content.
    private static func isBeginning(_ path: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var offset: Int64 = 0
        while let bytes = try file.read(upToCount: 1 << 20), !bytes.isEmpty {
            guard content.matches([UInt8](bytes), at: offset) else { return false }
            offset += Int64(bytes.count)
        }
        return true
    }

    @Test("Through fifty cuts and five resets, a pipe gets each byte once, and memory stays bounded")
    func interrupted() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { request in
            .file(
                Resource(Self.content, etag: "\"v1\""), for: request,
                cutAfter: request.number <= Self.interruptions ? Self.part : nil, reset: request.number % 11 == 0)
        }
        let get = try await Self.pipe("\(server.baseURL)/file", to: folder["piped"])
        expectBounded(get, over: idle)
        #expect(get.status == 0, "\(get.text)")
        #expect(Self.size(of: folder["piped"]) == Self.content.length)
        #expect(try Self.isBeginning(folder["piped"]))
        #expect(server.requests.count == Self.interruptions + 1)
    }

    @Test("While nobody reads, the network is not read either, and memory stays bounded")
    func slowReader() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { .file(Resource(Self.content, etag: "\"v1\""), for: $0) }
        let get = try await Self.pipe("\(server.baseURL)/file", to: folder["piped"], reader: "sleep 2; cat")
        expectBounded(get, over: idle)
        #expect(get.status == 0 && server.requests.count == 1, "\(get.text)")
        #expect(try Self.size(of: folder["piped"]) == Self.content.length && Self.isBeginning(folder["piped"]))
    }

    @Test("If the file changes in the middle, the output ends, nothing is appended, and the exit status says so")
    func changed() async throws {
        let path = folder["piped"]
        let server = try await servers.serve { request in
            guard request.number > 20 else {
                return .file(Resource(Self.content, etag: "\"v1\""), for: request, cutAfter: Self.part)
            }
            let other = Resource(Content(length: Self.content.length, seed: 23), etag: "\"v2\"")
            var response = Response.file(other, for: request)
            // Without this, nothing might have been written yet, and the new version would be written as a whole.
            response.steps.insert(.wait(until: { Self.size(of: path) >= Self.part }), at: 0)
            return response
        }
        let get = try await Self.pipe("\(server.baseURL)/file", to: path)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.text.contains("changed"), "\(get.text)")
        #expect((Self.part..<Self.content.length).contains(Self.size(of: path)))
        #expect(try Self.isBeginning(path))
    }
}
