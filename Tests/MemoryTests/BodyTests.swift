import Foundation
import OriginServer
import TestSupport
import Testing

/// Bodies that never end, were not requested, or arrive faster than the disk can write.
@Suite(.serialized, .timeLimit(.minutes(20)), .enabled(if: Bound.isMeasured, "needs /proc and Python"))
struct BodyTests {
    private let servers = Servers()

    @Test("J06: a chunked body that never ends stops at --max-size")
    func endlessUpToLimit() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let server = try await servers.serve { _ in EndlessAnswer.chunks() }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--max-size", "20000000"])
        expectBounded(get, over: idle)
        #expect(get.status == 1)
        #expect(get.text.contains("exceeds the limit of 20000000 bytes"), "\(get.text)")
        #expect(get.delivered == nil)
        #expect(get.stored < 24_000_000)
        #expect(server.bodyBytesSent < 64 << 20)
    }

    @Test(
        "J06: without a limit it stops when the disk is full, and says so",
        .enabled(if: Shell.isRoot && Shell.has("unshare"), "needs root and unshare"))
    func endlessUpToFullDisk() async throws {
        let idle = try await MeasuredGet.idlePeak()
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["disk"])
            // Only the program sees this disk, which disappears with it.
            let mount = "mount -t tmpfs -o size=48m tmpfs \"$0\" && exec \"$@\""
            try await OriginServer.withServer(
                handler: { _ in EndlessAnswer.chunks() },
                { server in
                    let get = try await MeasuredGet.run(
                        "\(server.baseURL)/file", wrapper: ["unshare", "--mount", "sh", "-c", mount, folder["disk"]],
                        store: folder["disk/store"])
                    expectBounded(get, over: idle)
                    #expect(get.status == 74)
                    #expect(get.text.lowercased().contains("space"), "\(get.text)")
                    #expect(get.delivered == nil)
                    #expect(server.bodyBytesSent < 128 << 20)
                })
        }
    }

    @Test("J06: endless bytes after a body are refused", arguments: ["trailers", "chunk extension", "zeros"])
    func endlessAfterBody(kind: String) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"v1\"\r\n\r\n4\r\nbody\r\n"
        let server = try await servers.serve { _ in
            switch kind {
            case "trailers": EndlessAnswer.text("X-Field: value\r\n", after: head + "0\r\n")
            case "zeros": EndlessAnswer.text("0000000000000000", after: head)
            default: EndlessAnswer.text("aaaaaaaaaaaaaaaa", after: head + "4;")
            }
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--stall-timeout", "120"])
        expectBounded(get, over: idle)
        #expect(get.status == 75, "\(get.text)")
        #expect(get.text.contains("neither header nor body") || get.text.contains("header"), "\(get.text)")
        #expect(get.delivered == nil)
    }

    @Test("F26: 400 MiB for a disk that takes 20 ms for each write", .enabled(if: Shell.has("strace"), "needs strace"))
    func slowDisk() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let content = Content(length: 400 << 20, seed: 1)
        // The tracer detaches (-D), so that the measured process is the program.
        let wrapper = [
            "strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,pwritev", "-e",
            "inject=pwrite64,pwritev:delay_enter=20000",
        ]
        let server = try await servers.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", wrapper: wrapper, until: 8 << 20)
        let extra = get.peak - idle
        print("memory: a slow disk: \(extra >> 10) KiB over idle, \(get.stored >> 20) MiB stored")
        #expect(extra < Bound.extra, "\(extra >> 10) KiB more than idle")
        // It was killed before it could end, and the server was slowed down as well.
        #expect(get.status == 128 + SIGKILL && get.stored < 400 << 20)
        #expect(server.bodyBytesSent < Int64(get.stored) + 32 << 20)
    }

    @Test("F26: 400 MiB as fast as they can be sent, of which little is accepted")
    func limitedRate() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let content = Content(length: 400 << 20, seed: 1)
        let server = try await servers.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--limit-rate", "1000000"], until: 4_000_000)
        // Less than 3 MB of that are the database and its reserve; the rest takes a while at any load.
        #expect(get.seconds >= 1)
        let extra = get.peak - idle
        print("memory: a limited rate: \(extra >> 10) KiB over idle, \(get.stored >> 20) MiB stored")
        #expect(extra < Bound.extra, "\(extra >> 10) KiB more than idle")
        #expect(get.status == 128 + SIGKILL && get.stored < 400 << 20)
        #expect(server.bodyBytesSent < Int64(get.stored) + 32 << 20)
    }

    @Test("G08: a compression bomb is not inflated: refused as a coding, stored as it is if it is the file")
    func bomb() async throws {
        let idle = try await MeasuredGet.idlePeak()
        try await TemporaryFolder.with { folder in
            try await Shell.run("sh", "-c", "head -c 400000000 /dev/zero | gzip -1 > \(folder["bomb"])")
            let content = Content(try Files.bytes(folder["bomb"]))
            for isCoded in [true, false] {
                var resource = Resource(content, etag: "\"v1\"")
                resource.contentType = "application/gzip"
                if isCoded { resource.extraFields = [("Content-Encoding", "gzip")] }
                let bomb = resource
                let server = try await servers.serve { .file(bomb, for: $0) }
                let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--max-size", "10000000"])
                expectBounded(get, over: idle)
                #expect(get.status == (isCoded ? 1 : 0), "\(get.text)")
                #expect(get.text.contains("compressed") == isCoded, "\(get.text)")
                #expect(get.delivered == (isCoded ? nil : Int(content.length)))
                #expect(get.stored < 4_000_000)
            }
        }
    }

    @Test("H14: bodies of redirects are neither stored nor waited for", arguments: [true, false])
    func redirects(isEndless: Bool) async throws {
        let idle = try await MeasuredGet.idlePeak()
        let resource = Resource(Content(length: 100_000, seed: 1), etag: "\"v1\"")
        let server = try await servers.serve { request in
            let isLast = !isEndless && request.number > 10
            return isLast ? .file(resource, for: request) : EndlessAnswer.redirect(to: "/\(request.number)")
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file")
        expectBounded(get, over: idle)
        #expect(get.status == (isEndless ? 1 : 0), "\(get.text)")
        #expect(get.text.contains("more redirects in a row") == isEndless, "\(get.text)")
        #expect(get.delivered == (isEndless ? nil : 100_000))
        #expect(get.stored < 2_000_000)
        #expect(server.requests.count == (isEndless ? 21 : 11))
    }

    @Test("F21: a body at 1 byte per second times out")
    func trickle() async throws {
        let idle = try await MeasuredGet.idlePeak()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"v1\"\r\n\r\n"
        let server = try await servers.serve { _ in
            EndlessAnswer.trickle(String(repeating: "a", count: 1000), milliseconds: 1000, after: head)
        }
        let get = try await MeasuredGet.run("\(server.baseURL)/file", ["--stall-timeout", "2"])
        expectBounded(get, over: idle)
        #expect(get.status == 75)
        #expect(get.text.contains("bytes in 2"), "\(get.text)")
        #expect(get.delivered == nil)
    }
}
