internal import Foundation
internal import OriginServer
package import TestSupport

/// Plants stores, and checks every command and the library against their invariants.
package struct StoreFuzzer: Sendable {
    /// The seed of the cases.
    package var seed: UInt64 = 1
    /// The number of the first case.
    package var first = 0
    /// The number of cases; nil for as many as time permits.
    package var count: Int?
    /// How long cases are begun; nil for no limit.
    package var duration: Duration?
    /// How many cases run at a time.
    package var lanes = 2
    /// Receives each violation, and occasional progress.
    package var say: @Sendable (String) -> Void = { _ in }

    /// Creates a fuzzer.
    package init() {}

    /// The findings.
    package struct Report: Sendable {
        package var cases = 0
        /// The number of processes.
        package var runs = 0
        /// The exit statuses, counted.
        package var statuses: [Int32: Int] = [:]
        /// The violations, and how to reproduce them.
        package var violations: [String] = []

        /// The report in one line.
        package var summary: String {
            let ends = statuses.sorted { $0.key < $1.key }.map { "\($0.value) with \($0.key)" }.joined(separator: ", ")
            return "\(cases) stores, \(runs) processes (\(ends)), \(violations.count) violations"
        }
    }

    /// Runs the cases.
    ///
    /// - Parameter folder: The folder for the stores.
    /// - Returns: The findings.
    /// - Throws: An error if they cannot be created.
    package func run(in folder: TemporaryFolder) async throws -> Report {
        try await OriginServer.withServer(handler: PristineStore.answer) { server in
            let pristine = try await PristineStore(in: folder, origin: "\(server.baseURL)")
            return try await run(pristine, origin: server.baseURL, in: folder)
        }
    }

    private func run(_ pristine: PristineStore, origin: String, in folder: TemporaryFolder) async throws -> Report {
        let own = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let library = own.deletingLastPathComponent().appendingPathComponent("store-fuzzer").path
        let programs = CaseRun.Programs(resumectl: Resumectl.path, library: library)
        let lengths = try Self.lengths(pristine)
        let deadline = duration.map { ContinuousClock.now + $0 }
        var report = Report()
        var next = first
        try await withThrowingTaskGroup(of: (FuzzCase, CaseRun).self) { group in
            func begin() {
                guard count.map({ next < first + $0 }) ?? true, deadline.map({ ContinuousClock.now < $0 }) ?? true
                else { return }
                let number = next
                next += 1
                group.addTask {
                    try await TemporaryFolder.with { own in
                        let example = FuzzCase(
                            seed: seed, number: number, columns: pristine.columns,
                            forbidden: CaseRun.forbidden(in: own), lengths: lengths)
                        var run = CaseRun(example, in: own, origin: origin, programs: programs)
                        try await run.run(on: pristine)
                        return (example, run)
                    }
                }
            }
            for _ in 0..<lanes { begin() }
            for try await (example, run) in group {
                report.cases += 1
                report.runs += run.runs
                report.statuses.merge(run.statuses, uniquingKeysWith: +)
                for violation in run.violations {
                    let text = "\(violation)\n  again: \(example)"
                    report.violations.append(text)
                    say("VIOLATION: \(text)")
                }
                if report.cases % 100 == 0 { say(report.summary) }
                begin()
            }
        }
        return report
    }

    private static func lengths(_ pristine: PristineStore) throws -> [String: Int] {
        var lengths: [String: Int] = [:]
        for (prefix, path) in [("", pristine.closed), ("hot/", pristine.hot)] {
            for name in try Files.names(in: path) where name.hasPrefix("store.sqlite") {
                lengths[prefix + name] = try Files.bytes("\(path)/\(name)").count
            }
        }
        return lengths
    }
}
