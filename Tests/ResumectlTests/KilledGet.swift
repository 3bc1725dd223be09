import Foundation
import TestSupport
import Testing

/// 200 MiB from nginx by a `resumectl get` that is killed at twenty random places, then runs to its end.
struct KilledGet {
    /// The requests of nginx's log.
    let log: [(status: Int, bytes: Int, range: String)]
    /// How many bytes were held after each kill.
    let kept: [Int]
    /// The number of chunks that were held before the last run.
    let chunks: Int

    private static let size = 200 << 20
    private static let kills = 20
    /// Where it is killed follows from this.
    private static let seed: UInt64 = 20

    /// Kills it, expects each run to keep what was received, and expects the last one to fetch the rest only.
    ///
    /// - Parameters:
    ///   - rate: What nginx sends in a second to each connection of a run that is killed, in its notation. It is so slow
    ///     that no run comes to the end of the file before it is killed.
    ///   - connections: How many connections the runs that are killed use.
    ///   - lastConnections: How many the last one uses.
    /// - Returns: What came of it.
    /// - Throws: Where it cannot be done.
    static func run(rate: String, connections: Int, lastConnections: Int) async throws -> KilledGet {
        try await TemporaryFolder.with { folder in
            let content = sampleBytes(size)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(content, to: folder["www/file"])
            let nginx = try await Nginx(serving: folder["www"], rate: rate)
            let program = Resumectl(folder: folder)
            let get = ["get", "--key", "file", "--output", folder["out"], "--json", "--connections"]
            var random = SplitMix64(seed: seed)
            var kept = [0]
            for kill in 1...kills {
                let events = folder["events\(kill)"]
                let enough = kept[kill - 1] + Int.random(in: 1...2_000_000, using: &random)
                let process = try program.start(
                    get + ["\(connections)", nginx.url("slow/file")], output: events)
                try await wait(for: "\(enough) bytes of run \(kill)", while: process) {
                    try Self.told(events) >= enough
                }
                process.send(SIGKILL)
                #expect(await process.wait() == .killed(SIGKILL))
                #expect(!Files.exists(folder["out"]), "nothing appears before it is whole")
                kept.append(try await program.received())
                // At most 1 MiB of each connection.
                let told = try Self.told(events)
                #expect(kept[kill] >= told - connections << 20, "run \(kill) of seed \(seed) told \(told): \(kept)")
                #expect(kept[kill] >= kept[kill - 1], "run \(kill) of seed \(seed): \(kept)")
            }
            let chunks = (try await program.entry()?["chunks"] as? [Any])?.count ?? 0
            let last = try program.start(
                get + ["\(lastConnections)", nginx.url("file")], output: folder["last"])
            let ending = await last.wait()
            let errors = String(decoding: try Files.bytes(folder["last"]), as: UTF8.self)
            #expect(ending == .exited(0), "\(errors)")
            let finished = try #require(try Resumectl.events(in: folder["last"]).last)
            #expect(finished["event"] as? String == "finished")
            #expect(finished["reusedBytes"] as? Int == kept[kills], "\(finished) after \(kept)")
            let same = try Files.bytes(folder["out"]) == content
            #expect(same)
            #expect(try await program.run("list").output.isEmpty)
            let log = try await nginx.log()
            await nginx.stop()
            // Without an assertion: what was on its way to a process when that was killed depends on the machine.
            let sent = Double(log.reduce(0) { $0 + $1.bytes }) / Double(size)
            print("killed twenty times: \(log.count) requests, sent \(sent) times the size")
            return KilledGet(log: log, kept: kept, chunks: chunks)
        }
    }

    /// How many bytes the events of a run have told of.
    private static func told(_ events: String) throws -> Int {
        try Resumectl.events(in: events).compactMap { $0["receivedBytes"] as? Int }.last ?? 0
    }
}
