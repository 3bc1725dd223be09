internal import Foundation
internal import ResumeStore
package import TestSupport

/// Many histories, one after the other, each from a seed of its number.
package struct HistoryWalk: Sendable {
    /// What the histories are made from.
    package var seed: UInt64 = 1
    /// The number of the first history.
    package var first = 0
    /// How many histories there are.
    package var count = 1000
    /// How many of them this process skips after each that it runs, since other processes run these.
    package var stride = 1
    /// Whether to print what happened in each.
    package var isVerbose = false
    /// Called with lines for people.
    package var say: @Sendable (String) -> Void = { _ in }

    /// What was found.
    package struct Report: Sendable {
        /// How many histories were run.
        package var histories = 0
        /// The violations, with what led to them.
        package var violations: [String] = []
        /// How often things happened.
        package var statistics: [String: Int] = [:]

        /// The result in one line.
        package var summary: String { "\(histories) histories, \(violations.count) violations" }
    }

    /// Makes a walk with default options.
    package init() {}

    /// Runs the histories in a folder.
    ///
    /// - Throws: The error of a store that cannot be opened.
    package func run(in folder: TemporaryFolder) async throws -> Report {
        let pristine = folder["pristine"]
        await (try DownloadStore.open(at: pristine)).close()
        var report = Report()
        for number in Swift.stride(from: first, to: first + count, by: stride) {
            let place = try TemporaryFolder(in: folder.path)
            defer { place.remove() }
            // Numbers next to each other, and seeds next to each other, are far apart.
            let history = HistoryRun(
                seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) &* 0xD1B5_4A32_D192_ED03, in: place)
            let text = try await history.run(from: pristine, reporting: isVerbose)
            report.histories += 1
            report.statistics.merge(history.statistics) { $0 + $1 }
            if let text {
                say("number \(number), \(text)")
                if !history.violations.isEmpty { report.violations.append("number \(number), \(text)") }
            }
        }
        return report
    }
}
