import CForkedChild
import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import Synchronization
import TestSupport
import Testing

/// A store cannot be used in a forked child, and the child does not harm the parent.
///
/// Each test runs in a separate process, so that no other test holds a lock at the moment of the fork.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ForkTests {
    @Temporary private var folder

    /// How an asynchronous call in a forked child ended.
    enum Ending: Int32 {
        case done = 10, forkedChild, otherError, waitsForEver
    }

    private final class Box: Sendable {
        let work: @Sendable () -> Int32
        init(_ work: @escaping @Sendable () -> Int32) { self.work = work }
    }

    /// Runs a closure in a forked child, which exits with its result or is killed after two minutes.
    static func inChild(_ work: @escaping @Sendable () -> Int32) -> Int32 {
        let box = Box(work)
        return withExtendedLifetime(box) {
            forked_child_run(
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().work()
                },
                Unmanaged.passUnretained(box).toOpaque(), 120)
        }
    }

    /// Runs an asynchronous call in a forked child, as far as it can run without another thread.
    static func ending(of call: @escaping @Sendable () async throws -> Void) -> Ending? {
        Ending(rawValue: status(of: call))
    }

    /// The exit status of the child of such a call.
    static func status(of call: @escaping @Sendable () async throws -> Void) -> Int32 {
        inChild {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return 0 }
            let ending = Mutex(Ending.waitsForEver)
            let task = Task.immediate {
                do {
                    try await call()
                    ending.withLock { $0 = .done }
                } catch let error as StoreError where error.code == .forkedChild {
                    let isHelpful = error.advice.contains("exec")
                    ending.withLock { $0 = isHelpful ? .forkedChild : .otherError }
                } catch {
                    ending.withLock { $0 = .otherError }
                }
            }
            return withExtendedLifetime(task) { ending.withLock { $0.rawValue } }
        }
    }

    /// A store with a transfer in progress.
    static func open(in path: String) async throws -> (DownloadStore, Transfer) {
        let store = try await DownloadStore.open(at: "\(path)/store")
        let transfer = try await store.open(try DownloadURL("http://127.0.0.1:9/a"), headerFields: [:], key: "a")
        let (head, _) = HonestServer(Victim.bytes).answer([:])
        _ = try await transfer.receive(head, to: await transfer.plan())
        try await transfer.write(Array(Victim.bytes[..<100_000]))
        try await transfer.checkpoint()
        return (store, transfer)
    }

    static func append(to transfer: Transfer) throws {
        let bytes = [UInt8](repeating: 1, count: 10)
        _ = try transfer.main.append(bytes.span.bytes)
    }

    /// The only reference to a store and its transfer, so that a child can release them.
    private final class Holder: Sendable {
        private let held: Mutex<(DownloadStore, Transfer)?>
        init(_ pair: (DownloadStore, Transfer)) { held = Mutex(pair) }
        func take() -> (DownloadStore, Transfer)? {
            held.withLock { held in
                defer { held = nil }
                return held
            }
        }
    }

    /// Continues a transfer after forks, to its end.
    static func finish(_ store: DownloadStore, _ transfer: Transfer, in path: String) async throws {
        try await transfer.write(Array(Victim.bytes[100_000...]))
        #expect(try await transfer.endBody(.whole))
        try await transfer.deliver(to: Destination(checking: "\(path)/out"))
        #expect(try Files.matches("\(path)/out", Victim.bytes))
        #expect(try await store.entries().isEmpty)
        #expect(try await store.verify().isEmpty)
        await store.close()
    }

    @Test("Every API call fails immediately in a child, and the parent continues")
    func doors() async throws {
        await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String] in
            try await ForkTests.checkDoors(path)
        }
    }

    @Test("The calls of a transfer, an actor, stop the child instead of waiting for ever")
    func actorCalls() async throws {
        await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String] in
            try await ForkTests.checkActorCalls(path)
        }
    }

    @Test("A child that closes every descriptor, or releases all its references, drops no lock of its parent")
    func locks() async throws {
        await #expect(processExitsWith: .exitCode(0)) { [path = folder.path as String] in
            try await ForkTests.checkLocks(path)
        }
    }

    static func checkDoors(_ path: String) async throws {
        let (store, transfer) = try await ForkTests.open(in: path)
        let url = try DownloadURL("http://127.0.0.1:9/a")
        let doors: [(String, @Sendable () async throws -> Void)] = [
            ("open", { _ = try await DownloadStore.open(at: "\(path)/store") }),
            ("open anew", { _ = try await DownloadStore.open(at: "\(path)/new") }),
            ("begin", { _ = try await store.open(url, headerFields: [:]) }),
            ("entries", { _ = try await store.entries() }),
            ("entry", { _ = try await store.entry(for: "a") }), ("events", { _ = try await store.events() }),
            ("totals", { _ = try await store.totals() }),
            ("pin", { _ = try await store.setPinned(true, for: "a") }),
            ("collect", { _ = try await store.collect(maximumSize: 0) }),
            ("purge", { _ = try await store.purge { _ in true } }),
            ("verify", { _ = try await store.verify(repairing: true) }),
            ("diagnose", { _ = try await store.diagnose() }), ("space", { _ = try store.freeSpace() }),
            ("append", { try ForkTests.append(to: transfer) }),
        ]
        for (name, door) in doors {
            let ending = ForkTests.ending(of: door)
            #expect(ending == .forkedChild, "\(name): \(String(describing: ending))")
        }
        let closing = ForkTests.ending { await store.close() }
        #expect(closing == .done)
        try await ForkTests.finish(store, transfer, in: path)
    }

    static func checkActorCalls(_ path: String) async throws {
        let (store, transfer) = try await ForkTests.open(in: path)
        let calls: [(String, @Sendable () async throws -> Void)] = [
            ("write", { try await transfer.write([1, 2, 3]) }),
            ("endBody", { _ = try await transfer.endBody(.whole) }),
            ("checkpoint", { try await transfer.checkpoint() }), ("close", { try await transfer.close() }),
        ]
        for (name, call) in calls {
            // Killed by the signal of its own message, not by the alarm.
            let status = ForkTests.status(of: call)
            #expect([128 + SIGILL, 128 + SIGTRAP, 128 + SIGABRT].contains(status), "\(name): \(status)")
        }
        try await ForkTests.finish(store, transfer, in: path)
    }

    static func checkLocks(_ path: String) async throws {
        let (store, transfer) = try await ForkTests.open(in: path)
        let holder = Holder(try await ForkTests.open(in: "\(path)/other"))
        let ending = ForkTests.inChild { 7 }
        #expect(ending == 7)
        let closing = ForkTests.inChild {
            for descriptor in Int32(3)..<256 { close(descriptor) }
            return 7
        }
        #expect(closing == 7)
        let lettingGo = ForkTests.inChild {
            holder.take() == nil ? 8 : 7
        }
        #expect(lettingGo == 7)
        #expect(try await store.entry(for: "a")?.isInUse == true)
        // Another process sees the lease as well.
        let arguments = ["-s", "KILL", "300", Resumectl.path, "purge", "a", "--store", "\(path)/store"]
        #expect(try await Shell.outcome("timeout", arguments).status == 1)
        let other = try #require(holder.take())
        #expect(try await other.0.entry(for: "a")?.isInUse == true)
        try await ForkTests.finish(store, transfer, in: path)
        try await ForkTests.finish(other.0, other.1, in: path)
    }
}
