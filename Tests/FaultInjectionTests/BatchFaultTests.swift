import FaultInjection
import Foundation
import OriginServer
import Synchronization
import TestSupport
import Testing

/// Small files that are brought to disk together, with syncs that fail at the time.
@Suite(
    .enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(5)))
struct BatchFaultTests {
    private static let count = 20
    private static let files = (0..<count).map { number in
        Resource(Content(length: 9_000, seed: 70 + UInt64(number)), etag: "\"v1\"")
    }

    /// The result.
    private struct Outcome {
        var run: Shell.Outcome
        var calls: [FileCall]
        /// The numbers of the delivered files, all of them right.
        var delivered: Set<Int>
    }

    /// Gets all files, most of which arrive while the sync of the first one is held.
    ///
    /// `rules` adds faults, and `again` repeats the run undisturbed.
    private func get(rules: String, again: Bool = false) async throws -> Outcome {
        // Not in memory: only ext4 and XFS are synced as a whole file system.
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await Shell.run("mkdir", folder["out"])
        let asked = Mutex(0)
        return try await OriginServer.withServer(handler: { request in
            asked.withLock { $0 += 1 }
            let number = Int(request.path.dropFirst()) ?? 0
            return .file(Self.files[number], for: request)
        }) { server in
            let gate = folder["gate"]
            let shim = try await FaultShim.environment(
                roots: [folder.path], rules: "fdatasync@/blobs/#:hold=\(gate):1;\(rules)", trace: folder["trace"])
            let urls = (0..<Self.count).map { "\(server.baseURL)/\($0)" }
            let environment = Resumectl(folder: folder).environment.merging(shim) { $1 }
            let options = ["--json", "--max-concurrent", "4", "--retries", "0", "--directory", folder["out"]]
            let command = ["get"] + options + urls
            async let run = Shell.outcome(Resumectl.path, command, environment: environment)
            // The waiting ones have passed their slots to the last ones.
            try await wait(for: "the last request") { asked.withLock { $0 } == Self.count }
            try Files.write([], to: gate)
            var outcome = Outcome(run: try await run, calls: try FileCall.trace(folder["trace"]), delivered: [])
            if again {
                let second = try await Shell.outcome(
                    Resumectl.path, command, environment: Resumectl(folder: folder).environment)
                #expect(second.status == 0, "\(second.errors)")
            }
            for name in try Files.names(in: folder["out"]) {
                let number = try #require(Int(name))
                let content = Self.files[number].content
                #expect(try Files.matches(folder["out/\(name)"], content.bytes(in: content.all)))
                outcome.delivered.insert(number)
            }
            #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
            if again { #expect(outcome.delivered.count == Self.count) }
            return outcome
        }
    }

    private static var syncsWhole: Bool {
        get async throws {
            let kind = try await Shell.run("stat", "-f", "-c", "%T", NSTemporaryDirectory())
            return kind.hasPrefix("ext2/ext3") || kind.hasPrefix("xfs")
        }
    }

    @Test("Files that arrive during a sync are delivered together: one sync, then their names, one commit")
    func together() async throws {
        let outcome = try await get(rules: "")
        #expect(outcome.run.status == 0, "\(outcome.run.errors)")
        #expect(outcome.delivered.count == Self.count)
        let names = outcome.calls.filter { $0.name == "link" && $0.error == nil }
        let syncs = outcome.calls.filter { $0.name == "syncfs" }
        guard let sync = syncs.first, try await Self.syncsWhole else { return }
        // The first one is alone, and so may be some of the last.
        #expect(names.count { $0.start > sync.end } >= 8)
        let single = outcome.calls.count { $0.name == "fdatasync" && $0.path.contains("/blobs/#") }
        #expect(single <= Self.count - 8)
        let commits = outcome.calls.count { $0.name == "fsync" && $0.path.hasSuffix("/out") }
        #expect(commits <= Self.count - 7)
    }

    @Test("If the common sync fails, each file is synced alone, and only one that cannot be is not delivered")
    func oneUnsynced() async throws {
        let outcome = try await get(rules: "syncfs:error=EIO;fdatasync@/blobs/#:error=EIO:5")
        #expect(outcome.run.status == 74 && outcome.run.errors.contains("fdatasync failed"), "\(outcome.run.errors)")
        #expect(outcome.run.errors.contains("1 of 20 downloads did not complete"), "\(outcome.run.errors)")
        #expect(outcome.delivered.count == Self.count - 1)
    }

    @Test("If the names cannot be synced, no file counts as delivered; the next run delivers them")
    func unsyncedNames() async throws {
        let outcome = try await get(rules: "fsync@/out:error=EIO:2", again: true)
        #expect(outcome.run.status == 73 && outcome.run.errors.contains("fsync failed"), "\(outcome.run.errors)")
        let failed = outcome.run.errors.split(separator: "\n").count { $0.contains("fsync failed") }
        let told = outcome.run.output.split(separator: "\n").count { $0.contains("finished") }
        #expect(failed >= 1 && told == Self.count - failed, "\(failed) failed, \(told) are told to be delivered")
    }
}
