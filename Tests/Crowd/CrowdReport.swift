internal import Synchronization

/// What a crowd did, and its violations.
package struct CrowdReport: Sendable {
    /// Delivered files that are one version each.
    package var downloads = 0
    /// How many of them were copies, or complete before: nothing was requested for them.
    package var copies = 0
    /// How many resumed the partial data of another process.
    package var resumed = 0
    /// Processes killed.
    package var kills = 0
    /// Processes stopped for a while.
    package var stops = 0
    /// The number of stores: a new one each time that one without locks was damaged.
    package var stores = 1
    /// Files that match no version of the server.
    package var wrong = 0
    /// Files in the store without an entry, at the end.
    package var orphans = 0
    /// Temporary names beside destinations, at the end.
    package var leftovers = 0
    /// The result of each integrity check; nil if it was not available.
    package var integrity: [String: String] = [:]
    /// How often each command ended in each way.
    package var endings: [String: Int] = [:]
    package var violations: [String] = []

    /// Whether there were no violations.
    package var isClean: Bool { violations.isEmpty }

    /// The figures in one line.
    package var summary: String {
        let opinions = integrity.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return """
            crowd: \(downloads) downloads (\(resumed) resumed, \(copies) without a request), \(kills) kills, \
            \(stops) stops, \(stores > 1 ? "\(stores) stores, " : "")\(wrong) wrong files, \(orphans) orphans, \(leftovers) leftovers, \
            integrity: \(opinions.isEmpty ? "not looked at" : opinions), \(violations.count) violations
            """
    }

    /// How each command ended, one line per command and ending.
    package var details: String {
        endings.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }.joined(separator: "\n")
    }
}

/// The report while the crowd runs.
final class Findings: Sendable {
    private let report = Mutex(CrowdReport())

    func note(_ change: (inout CrowdReport) -> Void) {
        report.withLock { change(&$0) }
    }

    func ended(_ command: String, _ how: String) {
        note { $0.endings["\(command) \(how)", default: 0] += 1 }
    }

    func violation(_ text: String) {
        note { $0.violations.append(text) }
    }

    var value: CrowdReport { report.withLock { $0 } }
}
