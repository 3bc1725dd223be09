import CrashSweep
import FaultInjection
import Foundation
import TestSupport
import Testing

/// Each rule about the order of calls detects a trace that was altered by hand.
@Suite(
    .enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(5)))
struct OrderCheckTests {
    private static let fresh = Task { try await CrashSweep.trace(of: "fresh", program: Resumectl.path) }
    private static let changed = Task { try await CrashSweep.trace(of: "changed", program: Resumectl.path) }
    private static let small = Task { try await CrashSweep.trace(of: "small", program: Resumectl.path) }
    private static let replacing = Task {
        try await CrashSweep.trace(of: "small-replacing", program: Resumectl.path)
    }
    private static let elsewhere = Task { try await CrashSweep.trace(of: "elsewhere", program: Resumectl.path) }

    /// The violations of calls in the order of the array.
    private static func violations(_ calls: [FileCall]) -> [String] {
        let calls = calls.enumerated().map { index, call in
            var call = call
            (call.start, call.end) = (2 * index + 1, 2 * index + 2)
            return call
        }
        return OrderCheck(calls).violations
    }

    private static func isBlob(_ call: FileCall) -> Bool {
        call.path.contains("/blobs/") && !call.path.hasSuffix("/blobs")
    }
    private static func isLog(_ call: FileCall) -> Bool { call.path.hasSuffix("-wal") }

    /// The index of the first call of a name that meets a condition.
    private static func index(
        _ calls: [FileCall], from start: Int = 0, _ name: String, _ condition: (FileCall) -> Bool
    ) throws -> Int {
        try #require(calls.indices.dropFirst(start).first { calls[$0].name == name && condition(calls[$0]) })
    }

    private static func without(_ calls: [FileCall], _ index: Int) -> [FileCall] {
        Array(calls[..<index] + calls[(index + 1)...])
    }

    private static func moved(_ calls: [FileCall], _ from: Int, behind to: Int) -> [FileCall] {
        var calls = calls
        let call = calls[from]
        calls.insert(call, at: to + 1)
        calls.remove(at: from < to ? from : from + 1)
        return calls
    }

    private static func expect(_ text: String, _ calls: [FileCall]) {
        let found = violations(calls)
        #expect(found.contains { $0.contains(text) }, "\(found)")
    }

    @Test("An unaltered trace has no violations")
    func unaltered() async throws {
        for trace in [Self.fresh, Self.changed, Self.elsewhere, Self.small] {
            let found = Self.violations(try await trace.value)
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test("The blob is not synced, or only after the row claims it")
    func blobSync() async throws {
        let calls = try await Self.fresh.value
        let sync = try Self.index(calls, "fdatasync", Self.isBlob)
        let altered = Self.without(calls, sync)
        Self.expect("whose bytes were not synced", altered)
        Self.expect("synced before the blob's bytes are", altered)
        let commit = try Self.index(calls, from: sync, "fdatasync", Self.isLog)
        Self.expect("synced before the blob's bytes are", Self.moved(calls, sync, behind: commit))
    }

    @Test(
        "A file without a name gets one before its bytes are synced, or is reported before its name is",
        arguments: [false, true])
    func naming(replaces: Bool) async throws {
        let calls = try await (replaces ? Self.replacing : Self.small).value
        let name =
            replaces
            ? try Self.index(calls, "rename", Self.isBlob)
            : try Self.index(calls, "link") { $0.path.contains("/blobs/#") }
        let sync = try Self.index(calls, "fdatasync", Self.isBlob)
        Self.expect("name before its bytes are synced", Self.moved(calls, sync, behind: name))
        let folderSync = try Self.index(calls, from: name, "fsync") { $0.path.hasSuffix("/out") || !Self.isBlob($0) }
        let commit = try Self.index(calls, from: folderSync, "pwrite", Self.isLog)
        Self.expect("before its folder is synced", Self.moved(calls, folderSync, behind: commit))
    }

    @Test("The commit that claims durability is not synced before the delivery")
    func commitSync() async throws {
        let calls = try await Self.fresh.value
        let sync = try Self.index(calls, "fdatasync", Self.isBlob)
        let link = try Self.index(calls, "link", Self.isBlob)
        let altered = calls.enumerated().filter { index, call in
            !(sync..<link ~= index && call.name == "fdatasync" && Self.isLog(call))
        }.map(\.element)
        Self.expect("before a synced commit", altered)
    }

    @Test("The blobs' folder is not synced, or only after a row names the new blob")
    func blobFolder() async throws {
        let calls = try await Self.fresh.value
        let sync = try Self.index(calls, "fsync") { $0.path.dropLast(3).hasSuffix("/blobs") }
        Self.expect("before its folder is synced", Self.without(calls, sync))
        let commit = try Self.index(calls, from: sync, "pwrite", Self.isLog)
        Self.expect("follows a new blob before its folder", Self.moved(calls, sync, behind: commit))
    }

    @Test("The name of the blob's folder is not synced")
    func nameOfBlobFolder() async throws {
        let calls = try await Self.fresh.value
        let sync = try Self.index(calls, "fsync") { $0.path.hasSuffix("/blobs") }
        Self.expect("before the name of its folder", Self.without(calls, sync))
    }

    @Test("A blob has bytes before a row names it")
    func earlyBytes() async throws {
        let calls = try await Self.fresh.value
        let bytes = try Self.index(calls, "pwrite", Self.isBlob)
        let sync = try Self.index(calls, "fsync") { $0.path.dropLast(3).hasSuffix("/blobs") }
        Self.expect("bytes before a commit names it", Self.moved(calls, bytes, behind: sync))
    }

    @Test("The destination's folder is not synced, or only after the row is removed")
    func destinationFolder() async throws {
        let calls = try await Self.fresh.value
        let rename = try Self.index(calls, "rename") { _ in true }
        let sync = try Self.index(calls, from: rename, "fsync") { _ in true }
        Self.expect("before the destination's folder is synced", Self.without(calls, sync))
        let commit = try Self.index(calls, from: sync, "pwrite", Self.isLog)
        Self.expect("before the destination's folder is synced", Self.moved(calls, sync, behind: commit))
    }

    @Test("A blob is removed before the row")
    func earlyRemoval() async throws {
        let calls = try await Self.changed.value
        let removal = try Self.index(calls, "unlink", Self.isBlob)
        let created = try Self.index(calls, "open") { Self.isBlob($0) && ($0.offset ?? 0) & 0o100 != 0 }
        Self.expect("removed before a commit drops it", Self.moved(calls, removal, behind: created))
        let delivered = try await Self.fresh.value
        let last = try Self.index(delivered, "unlink", Self.isBlob)
        let rename = try Self.index(delivered, "rename") { _ in true }
        Self.expect("removed before a commit drops it", Self.moved(delivered, last, behind: rename))
    }

    @Test("A blob is written after its removal, truncated, or created twice")
    func reuse() async throws {
        let calls = try await Self.changed.value
        var write = calls[try Self.index(calls, "pwrite", Self.isBlob)]
        let removal = calls[try Self.index(calls, "unlink", Self.isBlob)]
        write.path = removal.path
        Self.expect("used after its removal", calls + [write])
        write.name = "ftruncate"
        Self.expect("is truncated", [write] + calls)
        let created = calls[try Self.index(calls, "open") { Self.isBlob($0) && ($0.offset ?? 0) & 0o100 != 0 }]
        Self.expect("made twice", [created] + calls)
    }

    /// Whether the two places of a sweep are on different file systems.
    ///
    /// On the same one a link replaces the copy.
    private static let hasTwoFileSystems: Bool = {
        var (first, second) = (stat(), stat())
        return stat("/dev/shm", &first) == 0 && stat(FileManager.default.temporaryDirectory.path, &second) == 0
            && first.st_dev != second.st_dev && FileManager.default.isWritableFile(atPath: "/dev/shm")
    }()

    @Test(
        "A copy is renamed before it was synced, or written after that",
        .enabled(if: hasTwoFileSystems, "needs a second file system"))
    func copies() async throws {
        let calls = try await Self.elsewhere.value
        let isStaging: (FileCall) -> Bool = { $0.path.hasSuffix(".resumectl") }
        let sync = try Self.index(calls, "fsync", isStaging)
        let rename = try Self.index(calls, "rename") { _ in true }
        Self.expect("renamed before it was synced", Self.without(calls, sync))
        Self.expect("renamed before it was synced", Self.moved(calls, sync, behind: rename))
    }
}
