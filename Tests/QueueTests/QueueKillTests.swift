import Foundation
import OriginServer
@testable import ResumeDownload
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// A queue in a separate process, which is killed.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct QueueKillTests {
    private static let count = 1000
    private static let running = 4
    private static let kills = 5
    /// The number of requests answered before a kill, and the most that may follow while it takes effect.
    private static let (stage, surplus) = (count / (kills + 1), 40)
    /// The overlap that is compared at the beginning of a continuation, in bytes.
    private static let overlap: Int64 = 4096
    /// The most that one download loses when its process is killed, in bytes.
    private static let mostLost: Int64 = 1 << 20

    /// Files of 10 to 39 KB, of 300 KB, and of 3 MB: half of each is longer than the overlap.
    private static func length(_ number: Int) -> Int64 {
        switch number % 100 {
        case 50: 3_000_000
        case let rest where rest % 10 == 0: 300_000
        default: Int64(10_000 + number * 7919 % 29_000)
        }
    }

    private static func content(_ number: Int) -> Content {
        Content(length: length(number), seed: UInt64(number) + 1)
    }

    @Test("1,000 downloads, killed five times: all files right, refetches within the bound, in order")
    func thousand() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["files"])
            // The answers to requests after this many stop in the middle.
            let answered = Atomic(Self.stage)
            let handler: @Sendable (OriginRequest) -> Response = { request in
                guard let number = Int(request.path.dropFirst()), number < Self.count else {
                    return .status("404 Not Found")
                }
                let resource = Resource(Self.content(number), etag: "\"\(number)\"")
                let place = request.number
                return .file(
                    resource, for: request, bytesPerSecond: 3_000_000,
                    pausingAt: Self.length(number) / 2, for: .wait { place <= answered.load(ordering: .relaxed) })
            }
            // A small buffer, so that about as much is sent as is read.
            try await OriginServer.withServer(sendBufferSize: 65_536, handler: handler) { server in
                var left: [Held] = []
                for kill in 1...Self.kills {
                    let process = try start(count: kill == 1 ? Self.count : 0, folder, server)
                    try await wait(for: "\(kill * Self.stage) requests", while: process) {
                        server.requests.count >= kill * Self.stage
                    }
                    // Every second kill comes during the traffic. The others come when all running downloads are held
                    // back and all their received bytes are recorded.
                    if !kill.isMultiple(of: 2) { try await waitUntilRecorded(in: folder["store"], process) }
                    process.send(SIGKILL)
                    let ending = await process.wait()
                    let text = try output(folder)
                    #expect(ending == .killed(SIGKILL), "\(text)")
                    left.append(try await Self.held(in: folder["store"], after: server.requests.count))
                    let next = (kill + 1) * Self.stage + (kill.isMultiple(of: 2) ? 0 : Self.surplus)
                    answered.store(kill < Self.kills ? next : .max, ordering: .relaxed)
                }
                let last = try start(count: 0, folder, server)
                let ending = await last.wait()
                let text = try output(folder)
                #expect(ending == .exited(0) && text == "left 0\n", "\(text)")
                try check(server, folder)
                try check(server, left)
                let store = try await DownloadStore.open(at: folder["store"])
                #expect(try await store.entries().isEmpty, "nothing is left in the store")
                await store.close()
            }
        }
    }

    /// What a killed process left in the store.
    private struct Held {
        /// The number of requests before the kill.
        var requests: Int
        /// The number of bytes recorded for each file number.
        var bytes: [Int: Int64] = [:]
    }

    /// Waits until a part of each running download is recorded.
    private func waitUntilRecorded(in path: String, _ process: ChildProcess) async throws {
        let store = try await DownloadStore.open(at: path)
        try await wait(for: "a part of each running download is recorded", while: process) {
            let parts = try await store.entries().filter { entry in
                let length = entry.url.split(separator: "/").last.flatMap { Int($0) }.map(Self.length) ?? 0
                return entry.receivedBytes >= length / 2 && entry.receivedBytes < length
            }
            return parts.count == Self.running
        }
        await store.close()
    }

    /// Reads what is recorded, and how much more was written to the files before the process died.
    private static func held(in path: String, after requests: Int) async throws -> Held {
        let store = try await DownloadStore.open(at: path)
        var held = Held(requests: requests)
        for entry in try await store.entries() {
            guard let number = entry.url.split(separator: "/").last.flatMap({ Int($0) }) else { continue }
            guard let file = entry.chunks.first?.path,
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(file)")
            else { continue }
            // A short file that was being delivered: its row would have been removed with the delivery.
            if length(number) < mostLost, (attributes[.referenceCount] as? NSNumber)?.intValue ?? 1 > 1 { continue }
            let written = (attributes[.size] as? NSNumber)?.int64Value ?? 0
            // From the first commit on, everything that was written counts.
            held.bytes[number] = entry.receivedBytes > 0 ? written : 0
            #expect(entry.receivedBytes > 0 || written <= mostLost, "\(number)")
        }
        await store.close()
        return held
    }

    /// Checks that bytes recorded when a process died are not fetched again, except the overlap.
    private func check(_ server: OriginServer, _ left: [Held]) throws {
        var resumed = 0
        for held in left {
            for (number, bytes) in held.bytes where bytes > Self.overlap && bytes < Self.length(number) {
                let next = try #require(server.requests.dropFirst(held.requests).first { $0.path == "/\(number)" })
                #expect(next.byteRange?.first == bytes - Self.overlap, "\(number)")
                resumed += 1
            }
            let complete = held.bytes.filter { $0.value == Self.length($0.key) }.keys
            let again = server.requests.dropFirst(held.requests).filter { request in
                complete.contains { request.path == "/\($0)" }
            }
            #expect(again.isEmpty)
        }
        #expect(resumed >= (Self.kills + 1) / 2 * Self.running)
        print("resumed \(resumed) downloads of killed processes")
    }

    private func start(count: Int, _ folder: TemporaryFolder, _ server: OriginServer) throws -> ChildProcess {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let program = bundle.deletingLastPathComponent().appendingPathComponent("queue-runner").path
        return try Shell.start(
            program, [folder["store"], folder["files"], server.baseURL, "\(count)", "\(Self.running)"],
            environment: [:], output: folder["output"])
    }

    private func output(_ folder: TemporaryFolder) throws -> String {
        String(decoding: try Files.bytes(folder["output"]), as: UTF8.self)
    }

    private func check(_ server: OriginServer, _ folder: TemporaryFolder) throws {
        let wrong = try (0..<Self.count).filter { number in
            let (content, bytes) = (Self.content(number), try Files.bytes(folder["files/\(number)"]))
            return Int64(bytes.count) != content.length || !content.matches(bytes)
        }
        #expect(wrong.isEmpty)

        let total = (0..<Self.count).reduce(0) { $0 + Self.length($1) }
        let sent = server.bodyBytesSent
        print("killed \(Self.kills) times: \(server.requests.count) requests, sent \(sent - total) bytes over \(total)")
        // The running downloads, and those that wait to be delivered together.
        let undelivered = Self.running + QueueState.mostPaused
        #expect(server.requests.count <= Self.count + Self.kills * undelivered, "only what was lost is asked for again")

        // The last one added runs first. When a download is requested, all before it have been, except those that hold
        // another slot.
        var seen: Set<Int> = []
        var missing = Self.count
        for request in server.requests {
            guard let number = Int(request.path.dropFirst()), seen.insert(number).inserted else { continue }
            missing = min(missing, number)
            let before = (number + 1..<Self.count).count { !seen.contains($0) }
            #expect(before < Self.running, "\(number) came before \(before) others")
        }
        #expect(seen.count == Self.count && missing == 0)
    }
}
