/// The findings of a sweep.
package struct SweepReport: Sendable {
    /// The results of one workflow on one file system.
    package struct Line: Sendable {
        package var workflow: String
        package var fileSystem: FileSystemKind
        /// Points at which the process died.
        package var deaths = 0
        /// Points at which power was lost as well.
        package var cuts = 0
        /// Calls that failed, or were short.
        package var failures = 0
        /// Points that the program did not reach: with different timing it makes fewer calls.
        package var unreached = 0
        /// Files with a wrong byte.
        package var wrongFiles = 0
        /// Complete downloads that were lost.
        package var lostDeliveries = 0
        /// The most bytes fetched again after the death of a process.
        package var deathLoss: Int64 = 0
        /// The most bytes fetched again after a power loss.
        package var cutLoss: Int64 = 0
        package var violations: [String] = []

        mutating func add(_ other: Line) {
            deaths += other.deaths
            cuts += other.cuts
            failures += other.failures
            unreached += other.unreached
            wrongFiles += other.wrongFiles
            lostDeliveries += other.lostDeliveries
            deathLoss = max(deathLoss, other.deathLoss)
            cutLoss = max(cutLoss, other.cutLoss)
            violations += other.violations
        }

        /// The line of the table.
        var text: String {
            let numbers = [
                "\(deaths)", "\(cuts)", "\(failures)", "\(wrongFiles)", "\(lostDeliveries)", "\(deathLoss)",
                "\(cutLoss)",
                "\(violations.count)",
            ]
            return SweepReport.row([workflow, fileSystem.rawValue] + numbers)
        }
    }

    /// A line for each workflow on each file system.
    package private(set) var lines: [Line] = []

    package var points: Int { lines.reduce(0) { $0 + $1.deaths + $1.cuts + $1.failures } }
    package var violations: [String] { lines.flatMap(\.violations) }

    mutating func add(_ line: Line) {
        if let index = lines.firstIndex(where: { $0.workflow == line.workflow && $0.fileSystem == line.fileSystem }) {
            lines[index].add(line)
        } else {
            lines.append(line)
        }
    }

    /// The results as a table, with a summary below.
    package var table: String {
        var total = Line(workflow: "all", fileSystem: .plain)
        for line in lines { total.add(line) }
        let head = Self.row([
            "workflow", "on", "deaths", "cuts", "failures", "wrong", "lost", "again (death)", "again (cut)",
            "violations",
        ])
        let summary =
            "\(points) points: \(total.wrongFiles) wrong files, \(total.lostDeliveries) lost deliveries, "
            + "\(total.violations.count) violations; at most \(total.deathLoss) bytes fetched again after the death of "
            + "a process, \(total.cutLoss) after a power cut; \(total.unreached) points were not reached"
        return ([head] + lines.map(\.text) + [summary]).joined(separator: "\n")
    }

    private static func row(_ cells: [String]) -> String {
        zip(cells, [18, 6, 7, 7, 9, 6, 5, 14, 12, 10]).map { cell, width in
            cell + String(repeating: " ", count: max(width - cell.count, 1))
        }.joined()
    }
}
