import Foundation
import TestSupport
import Testing

/// 200 MiB from nginx by a `resumectl get` that is killed at twenty random offsets, then runs to its end.
struct KilledGet {
    /// The requests in nginx's log.
    let log: [(status: Int, bytes: Int, range: String)]
    /// The number of stored bytes after each kill.
    let kept: [Int]
    /// The number of chunks that were stored before the last run.
    let chunks: Int

    private static let size = 200 << 20
    private static let kills = 20
    /// The seed for the offsets of the kills.
    private static let seed: UInt64 = 20

    /// The length of the only blob of the store; 0 if there is none.
    private static func blobLength(_ folder: TemporaryFolder) throws -> Int {
        let blobs = folder["store/blobs"]
        guard let name = try Files.names(in: blobs).first else { return 0 }
        return (try FileManager.default.attributesOfItem(atPath: "\(blobs)/\(name)")[.size] as? Int) ?? 0
    }

    /// Kills the runs, expects each to keep the received bytes, and expects the last one to fetch only the rest.
    ///
    /// - Parameters:
    ///   - rate: What nginx sends per second to each connection of a killed run, in its notation. It must be slow
    ///     enough that no run reaches the end of the file before it is killed.
    ///   - connections: The number of connections of the killed runs.
    ///   - lastConnections: The number of connections of the last run.
    /// - Returns: The results.
    /// - Throws: An error if the runs cannot be made.
    static func run(rate: String, connections: Int, lastConnections: Int) async throws -> KilledGet {
        try await TemporaryFolder.with { folder in
            let content = sampleBytes(size)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(content, to: folder["www/file"])
            let nginx = try await Nginx(serving: folder["www"], rate: rate)
            try nginx.setSlow(true)
            let program = Resumectl(folder: folder)
            let get = ["get", "--key", "file", "--output", folder["out"], "--json", "--connections"]
            var random = SplitMix64(seed: seed)
            var kept = [0]
            var (held, log) = ([Range<Int>](), try await nginx.log())
            for kill in 1...kills {
                let events = folder["events\(kill)"]
                let enough = kept[kill - 1] + Int.random(in: 1...2_000_000, using: &random)
                let process = try program.start(
                    get + ["\(connections)", nginx.url("file")], output: events)
                try await wait(for: "\(enough) bytes of run \(kill)", while: process) {
                    try Self.told(events) >= enough
                }
                process.send(SIGKILL)
                #expect(await process.wait() == .killed(SIGKILL))
                #expect(!Files.exists(folder["out"]), "nothing appears before it is whole")
                // With a single connection, everything that was written counts, recorded or not.
                kept.append(connections == 1 ? try Self.blobLength(folder) : try await program.received())
                // At most 1 MiB of each connection.
                let told = try Self.told(events)
                #expect(kept[kill] >= told - connections << 20, "run \(kill) of seed \(seed) told \(told): \(kept)")
                #expect(kept[kill] >= kept[kill - 1], "run \(kill) of seed \(seed): \(kept)")
                let before = log.count
                log = try await nginx.log()
                expectMissing(log.dropFirst(before).map(\.range), held: held, "run \(kill) of seed \(seed)")
                held = try await recorded(program)
            }
            let before = log.count
            try nginx.setSlow(false)
            let last = try program.start(
                get + ["\(lastConnections)", nginx.url("file")], output: folder["last"])
            let ending = await last.wait()
            let errors = String(decoding: try Files.bytes(folder["last"]), as: UTF8.self)
            #expect(ending == .exited(0), "\(errors)")
            let finished = try #require(try Resumectl.events(in: folder["last"]).last)
            #expect(finished["event"] as? String == "finished")
            #expect(finished["reusedBytes"] as? Int == kept[kills], "\(finished) after \(kept)")
            #expect(try Files.matches(folder["out"], content))
            #expect(try await program.run("list").output.isEmpty)
            log = try await nginx.log()
            await nginx.stop()
            expectMissing(log.dropFirst(before).map(\.range), held: held, "the last run of seed \(seed)")
            // Not asserted: the number of bytes in transit at each kill depends on the machine.
            let sent = Double(log.reduce(0) { $0 + $1.bytes }) / Double(size)
            print("killed twenty times: \(log.count) requests, sent \(sent) times the size")
            return KilledGet(log: log, kept: kept, chunks: held.count)
        }
    }

    /// Expects each request of a run to ask only for missing bytes and the overlaps on both sides.
    ///
    /// - Parameters:
    ///   - ranges: The values of `Range` in nginx's log.
    ///   - held: The ranges that were recorded before the run.
    ///   - run: The name of the run.
    private static func expectMissing(_ ranges: [String], held: [Range<Int>], _ run: String) {
        #expect(!ranges.isEmpty, "\(run)")
        for text in ranges {
            let ends = text.dropFirst("\"bytes=".count).dropLast().split(separator: "-").compactMap { Int($0) }
            let range = (ends.first ?? 0)..<(ends.count > 1 ? ends[1] + 1 : size)
            let again = held.map { $0.clamped(to: range).count }
            #expect(again.allSatisfy { $0 <= 2 * 4096 }, "\(run) asked for \(text) with \(held) held")
        }
    }

    /// The ranges that the store has recorded.
    private static func recorded(_ program: Resumectl) async throws -> [Range<Int>] {
        let chunks = try await program.entry()?["chunks"] as? [[String: Any]] ?? []
        return chunks.compactMap { chunk in
            guard let offset = chunk["offset"] as? Int, let length = chunk["length"] as? Int else { return nil }
            return offset..<offset + length
        }
    }

    /// The number of bytes that the events of a run have reported.
    private static func told(_ events: String) throws -> Int {
        try Resumectl.events(in: events).compactMap { $0["receivedBytes"] as? Int }.last ?? 0
    }
}
