import Foundation
@testable import ResumeCommands
import Synchronization
import TestSupport
import Testing

/// Databases with random bytes changed: every command exits with a defined status, and no outside file is touched.
@Suite(.timeLimit(.minutes(20)))
struct FlippedByteTests {
    @Test("Three hundred databases with up to 32 changed bytes cause no trap", arguments: 0..<10)
    func flipped(group: Int) async throws {
        try await Victim.with { victim in
            let pristine = try Files.bytes(victim.database)
            let blobs = try Files.names(in: "\(victim.store)/blobs")
            let copy = victim.folder["blobs"]
            try await Shell.run("cp", "-a", "\(victim.store)/blobs", copy)
            let outside = try victim.outside()
            var statuses: [ResumeCommands.ExitStatus: Int] = [:]
            for seed in 0..<30 {
                var bytes = pristine
                let noise = sampleBytes(400, seed: UInt64(group * 1000 + seed + 1))
                for index in 0..<(1 + Int(noise[0]) % 32) {
                    let at = noise[(index * 6 + 1)..<(index * 6 + 5)].reduce(0) { $0 << 8 | Int($1) } % bytes.count
                    // Half of them in page headers, which control what SQLite reads.
                    let place = index % 2 == 0 ? at : at / 4096 * 4096 + at % 128
                    bytes[place] = noise[index * 6 + 6]
                }
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: victim.database + suffix) }
                try Files.write(bytes, to: victim.database)
                for command in [
                    ["list"], ["log"], ["doctor"], ["verify", "--repair"], ["gc", "--max-size", "1"],
                    ["purge", "--all"],
                ] {
                    let (status, errors) = await Self.run(command, victim)
                    statuses[status, default: 0] += 1
                    let allowed: Set<ResumeCommands.ExitStatus> = [.success, .refused, .damaged, .notFound]
                    #expect(allowed.contains(status), "group \(group), seed \(seed): \(command): \(errors)")
                }
                for name in blobs where !Files.exists("\(victim.store)/blobs/\(name)") {
                    try await Shell.run("cp", "-a", "\(copy)/\(name)", "\(victim.store)/blobs/\(name)")
                }
            }
            #expect(try victim.outside() == outside)
            // Some databases were refused, but not all.
            #expect(statuses[.damaged, default: 0] > 0)
            #expect(statuses[.success, default: 0] > 0)
        }
    }

    private static func run(
        _ arguments: [String], _ victim: Victim
    ) async -> (status: ResumeCommands.ExitStatus, errors: String) {
        let errors = Mutex("")
        let context = CommandContext(
            output: { _ in }, errors: { text in errors.withLock { $0 += text } },
            environment: ["RESUMECTL_STORE": victim.store])
        let status = await ResumeCtl.run(arguments, in: context)
        return (status, errors.withLock { $0 })
    }
}
