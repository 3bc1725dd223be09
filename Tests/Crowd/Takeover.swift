internal import CResumeFiles
internal import Foundation
internal import OriginServer
internal import ResumeStore
internal import Synchronization
package import TestSupport

/// How soon a waiting process continues when the owner is killed.
package enum Takeover {
    /// One measurement, from the moment before SIGKILL was sent.
    package struct Sample: Sendable {
        /// Until the lease of the dead process was last seen free, polling every 50 µs: then the waiter had it.
        package var lease: Duration
        /// Until the waiter's request was at the origin.
        package var request: Duration
        /// The `Range` field of that request; nil if it asked for the whole file.
        package var range: String?
    }

    /// Starts a download and a process that waits for it, and kills the first, repeatedly.
    ///
    /// - Returns: A sample for each repetition.
    /// - Throws: An error if a process does not do what it should.
    package static func measure(_ count: Int, in folder: TemporaryFolder) async throws -> [Sample] {
        let arrivals = Mutex<[Arrival]>([])
        let chance = Chance(seed: 1)
        let resource = Resource(Content(length: 500_000_000, seed: 1), etag: "\"v1\"")
        return try await OriginServer.withServer(
            handler: { request in
                arrivals.withLock { $0.append(Arrival(time: .now, range: request.field("Range"))) }
                return .file(resource, for: request, bytesPerSecond: 4_000_000)
            },
            { server in
                var samples: [Sample] = []
                for number in 1...count {
                    arrivals.withLock { $0 = [] }
                    let place = try TemporaryFolder()
                    defer { place.remove() }
                    let program = Resumectl(folder: place)
                    samples.append(
                        try await takeOver(program, "\(server.baseURL)/\(number)", chance) {
                            arrivals.withLock { $0 }
                        })
                }
                return samples
            })
    }

    /// A request at the origin.
    private struct Arrival {
        let time: ContinuousClock.Instant
        let range: String?
    }

    private static func takeOver(
        _ program: Resumectl, _ url: String, _ chance: Chance, _ arrivals: () -> [Arrival]
    ) async throws -> Sample {
        let folder = program.folder
        let start: (String) throws -> ChildProcess = { name in
            try program.start(["get", url, "--output", folder[name], "--json"], output: folder["\(name).log"])
        }
        let owner = try start("owner")
        defer { owner.send(SIGKILL) }
        try await until { arrivals().count == 1 && said("progress", folder["owner.log"]) }
        let waiter = try start("waiter")
        defer { waiter.send(SIGKILL) }
        try await until { said("waiting", folder["waiter.log"]) }
        // Enough for the waiter to resume.
        let store = try await DownloadStore.open(at: folder["store"], creating: false)
        try await until { try await (store.entry(for: url)?.receivedBytes ?? 0) > 100_000 }
        await store.close()
        // At any moment of its pauses.
        try await Task.sleep(for: .microseconds(chance.number(0...20_000)))
        let leases = open(folder["store/leases"], O_RDONLY)
        guard leases >= 0 else { throw Shell.Failure(description: "there is no file of leases") }
        defer { close(leases) }

        let killed = ContinuousClock.now
        owner.send(SIGKILL)
        var lastFree = killed
        while arrivals().count < 2 {
            // The first entry of its store has the number 1.
            if resume_files_is_byte_locked(leases, 1) == 0 { lastFree = .now }
            guard ContinuousClock.now - killed < .seconds(120) else {
                throw Shell.Failure(description: "the waiting process did not go on")
            }
            usleep(50)
        }
        await owner.wait()
        let taken = arrivals().last
        let sample = Sample(
            lease: lastFree - killed, request: (taken?.time ?? killed) - killed, range: taken?.range)
        waiter.send(SIGKILL)
        await waiter.wait()
        return sample
    }

    private static func said(_ event: String, _ log: String) -> Bool {
        String(decoding: (try? Files.bytes(log)) ?? [], as: UTF8.self).contains("\"event\":\"\(event)\"")
    }

    private static func until(_ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !condition() {
            guard ContinuousClock.now < deadline else { throw Shell.Failure(description: "it did not come to pass") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
