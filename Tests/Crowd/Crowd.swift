internal import FaultInjection
internal import Foundation
internal import OriginServer
internal import Synchronization
package import TestSupport

/// Many processes on one store that download, are killed and stopped, and clean up at the same time.
///
/// Every delivered file must be one complete version that the server had. The store must be in order at the end.
package struct Crowd: Sendable {
    /// Which locks work.
    ///
    /// A lock that does not work can be taken by all processes at the same time.
    package enum Locks: String, Sendable, CaseIterable {
        /// All of them.
        case working
        /// Those of SQLite, but none of the store's own.
        case sqlite
        /// None: such a database is soon damaged, and is then replaced.
        case none
    }

    /// The parameters of a crowd.
    package struct Plan: Sendable {
        /// The minimum duration.
        package var duration: Duration
        /// The minimum number of downloads, kills and stops: a busy machine continues until then.
        package var leastEvents = 0
        /// The maximum duration, even with fewer events.
        package var longestDuration: Duration = .seconds(300)
        /// The seed of the choices.
        package var seed: UInt64
        /// The number of parallel downloads.
        package var members = 12
        /// Which locks work.
        ///
        /// Without all of them errors are allowed, and a damaged database; wrong bytes never are.
        package var locks = Locks.working

        /// Creates a plan.
        package init(duration: Duration, seed: UInt64) {
            self.duration = duration
            self.seed = seed
        }
    }

    let plan: Plan
    let folder: TemporaryFolder
    let chance: Chance
    let origin: VersionedOrigin
    let children: Children
    let findings = Findings()

    /// Destinations are in several folders, as with several users.
    static let outputFolders = ["out0", "out1", "out2"]

    private init(_ plan: Plan, in folder: TemporaryFolder, environment: [String: String]) {
        self.plan = plan
        self.folder = folder
        chance = Chance(seed: plan.seed)
        origin = VersionedOrigin(chance: chance)
        children = Children(folder: folder, environment: environment)
    }

    /// Runs a crowd in a folder.
    ///
    /// - Returns: What it did and found.
    /// - Throws: An error if it cannot be started, or `CancellationError` when all its processes have ended.
    package static func run(_ plan: Plan, in folder: TemporaryFolder) async throws -> CrowdReport {
        // Every request for a lock succeeds, whether or not it is held.
        let broken: [Locks: String] = [.sqlite: "flock,ofdlock", .none: "flock,ofdlock,posixlock"]
        let environment: [String: String] =
            if let broken = broken[plan.locks] {
                try await FaultShim.environment(roots: [folder.path], rules: "\(broken):succeed")
            } else {
                [:]
            }
        let crowd = Crowd(plan, in: folder, environment: environment)
        for name in outputFolders {
            try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: true)
        }
        let origin = crowd.origin
        try await OriginServer.withServer(
            handler: { origin.answer($0) },
            { server in
                // A single download first, so that a store exists.
                try await crowd.visit(server.baseURL, number: 0, mayFail: false)
                try await crowd.live(server.baseURL)
                try Task.checkCancellation()
                if plan.locks == .working { try await crowd.inspect() }
            })
        var report = crowd.findings.value
        report.kills = crowd.children.kills.load(ordering: .relaxed)
        report.stores = crowd.children.stores
        report.stops = crowd.children.stops.load(ordering: .relaxed)
        return report
    }

    /// Runs everything in parallel until the time is over.
    private func live(_ base: String) async throws {
        let deadline = ContinuousClock.now + plan.duration
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in 1...plan.members {
                group.addTask {
                    var number = member
                    try await repeating(pause: 0...150) {
                        try await visit(base, number: number, mayFail: true)
                        number += plan.members
                    }
                }
            }
            group.addTask { try await repeating(pause: 100...900) { origin.replaceOne() } }
            group.addTask { try await repeating(pause: 50...400) { children.killOne(chance) } }
            for _ in 0..<2 {
                group.addTask {
                    try await repeating(pause: 50...500) {
                        let milliseconds = chance.happens(10) ? 3000 : chance.number(5...800)
                        try await children.stopOne(chance, for: .milliseconds(milliseconds))
                    }
                }
            }
            for housekeeping in Housekeeping.allCases {
                group.addTask {
                    try await repeating(pause: housekeeping.pause) { try await keepHouse(housekeeping, base) }
                }
            }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                while !hasEnough, ContinuousClock.now < deadline + plan.longestDuration {
                    try await Task.sleep(for: .milliseconds(100))
                }
                throw CancellationError()
            }
            // None ends before the time is over, except with an error. Remaining processes are then killed, as are all
            // when the crowd is cancelled.
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch is CancellationError {}
        }
    }

    /// Whether there were as many downloads, kills and stops as the plan requires.
    private var hasEnough: Bool {
        let counts = [
            findings.value.downloads, children.kills.load(ordering: .relaxed), children.stops.load(ordering: .relaxed),
        ]
        return counts.allSatisfy { $0 >= plan.leastEvents }
    }

    private func repeating(pause: ClosedRange<Int>, _ body: () async throws -> Void) async throws {
        while !Task.isCancelled {
            try await body()
            try await Task.sleep(for: .milliseconds(chance.number(pause)))
        }
    }
}
