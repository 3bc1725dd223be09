internal import Synchronization

/// What a crowd did, and what was not as it must be.
package struct CrowdReport: Sendable {
    /// Files that were delivered, and are one version each.
    package var downloads = 0
    /// How many of them were copies, or complete before: nothing was asked for them.
    package var copies = 0
    /// How many went on from what another process had left.
    package var resumed = 0
    /// Processes killed.
    package var kills = 0
    /// Processes stopped for a while.
    package var stops = 0
    /// How many stores there were: another one each time that one without locks was damaged.
    package var stores = 1
    /// Files that are no version that the server had.
    package var wrong = 0
    /// Files in the store that no entry names, at the end.
    package var orphans = 0
    /// Temporary names beside destinations, at the end.
    package var leftovers = 0
    /// What each opinion on the database was; nil where it was not to be had.
    package var integrity: [String: String] = [:]
    /// How often each command ended in each way.
    package var endings: [String: Int] = [:]
    /// What must not have been.
    package var violations: [String] = []

    /// Whether all was as it must be.
    package var isClean: Bool { violations.isEmpty }

    /// One line with the figures.
    package var summary: String {
        let opinions = integrity.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return """
            crowd: \(downloads) downloads (\(resumed) resumed, \(copies) without a request), \(kills) kills, \
            \(stops) stops, \(stores > 1 ? "\(stores) stores, " : "")\(wrong) wrong files, \(orphans) orphans, \(leftovers) leftovers, \
            integrity: \(opinions.isEmpty ? "not looked at" : opinions), \(violations.count) violations
            """
    }

    /// How each command ended, one line a command and ending.
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
