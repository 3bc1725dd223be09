internal import FaultInjection
internal import Foundation
internal import TestSupport

/// Lets the real program die at each of its calls that change a file, and holds what is left against the promises.
package struct CrashSweep: Sendable {
    /// Where `resumectl` is.
    package var program: String
    /// The file systems, each of them swept beside the others.
    package var fileSystems: [FileSystemKind]
    /// The names of the workflows; empty for all.
    package var workflows: [String] = []
    /// What the contents are made from, a whole sweep each.
    package var seeds: [UInt64] = [1]
    /// Only every so many points are visited, with others for another seed.
    package var stride = 1
    /// The only point to visit; nil for all.
    package var point: Int?
    /// Whether only power cuts are tried, or only deaths of the process; nil for both.
    package var powerCut: Bool?
    /// Told a line at a time how it goes.
    package var progress: @Sendable (String) -> Void = { _ in }

    /// Makes a sweep over all there is.
    package init(program: String, fileSystems: [FileSystemKind]) {
        self.program = program
        self.fileSystems = fileSystems
    }

    /// The names of all workflows.
    package static var allWorkflows: [String] { Workflow.all(seed: 1).map(\.name) }

    /// Whether a file system can be mounted here.
    package static func isAvailable(_ kind: FileSystemKind) -> Bool {
        kind == .plain ? FaultShim.isAvailable : FaultShim.isAvailable && LoopDisk.isAvailable(kind)
    }

    /// Sweeps.
    ///
    /// - Returns: What was found.
    /// - Throws: Where it cannot be done: ``SweepFailure``, or what the system says.
    package func run() async throws -> SweepReport {
        try await withThrowingTaskGroup(of: [SweepReport.Line].self) { group in
            for kind in fileSystems { group.addTask { try await sweep(kind) } }
            var report = SweepReport()
            for try await lines in group {
                for line in lines { report.add(line) }
            }
            return report
        }
    }

    /// Sweeps on one file system.
    private func sweep(_ kind: FileSystemKind) async throws -> [SweepReport.Line] {
        let site = try await Site(kind, program: program)
        defer { site.remove() }
        let origin = try await SweepOrigin()
        do {
            var lines: [SweepReport.Line] = []
            for seed in seeds {
                for workflow in Workflow.all(seed: seed) where isWanted(workflow, on: site) {
                    let worker = Worker(site: site, origin: origin, workflow: workflow)
                    lines.append(try await sweep(worker, seed: seed))
                }
            }
            await origin.stop()
            return lines
        } catch {
            await origin.stop()
            throw error
        }
    }

    private func isWanted(_ workflow: Workflow, on site: Site) -> Bool {
        guard workflows.isEmpty || workflows.contains(workflow.name) else { return false }
        // The machine's own disk is not filled, and may be the only one.
        if workflow.fillsDisk && site.kind == .plain { return false }
        return !workflow.deliversElsewhere || site.hasOther
    }

    /// Sweeps over one workflow.
    private func sweep(_ worker: Worker, seed: UInt64) async throws -> SweepReport.Line {
        let kind = worker.site.kind
        var line = SweepReport.Line(workflow: worker.workflow.name, fileSystem: kind)
        try await worker.prepare()
        let count = try await countCalls(worker, &line)
        let first = 1 + Int(seed) % stride
        let numbers = point.map { [$0] } ?? Array(Swift.stride(from: first, through: count, by: stride))
        let modes = (kind == .plain ? [false] : [false, true]).filter { (powerCut ?? $0) == $0 }
        for number in numbers {
            for isPowerCut in modes {
                var visit = PointVisit(worker, Point(number: number, isPowerCut: isPowerCut))
                try await visit.run()
                line.add(visit.result, at: visit.point, seed: seed)
            }
        }
        progress("\(line.text)  (seed \(seed), \(count) calls)")
        for violation in line.violations { progress("  \(violation)") }
        return line
    }

    /// Runs the command undisturbed, and counts the calls that change something.
    private func countCalls(_ worker: Worker, _ line: inout SweepReport.Line) async throws -> Int {
        try await PointVisit.begin(worker, isSynced: false)
        let run = try await worker.site.run(worker.command, isTraced: true)
        guard run.ending == .exited(0) else {
            throw SweepFailure("\(worker.workflow.name) ends with \(run.ending) undisturbed: \(run.errors)")
        }
        let calls = try FileCall.trace(worker.site.trace)
        let order = OrderCheck(calls, orphans: [Worker.orphan], isSingle: worker.workflow.files.count == 1)
        line.violations += order.violations.map { "\(worker.workflow.name), undisturbed: \($0)" }
        worker.site.unfill()
        return try FaultShim.counts(in: worker.site.count).first ?? 0
    }
}

extension SweepReport.Line {
    fileprivate mutating func add(_ result: PointResult, at point: Point, seed: UInt64) {
        if !result.isReached {
            unreached += 1
        } else if point.isPowerCut {
            cuts += 1
            cutLoss = max(cutLoss, result.loss)
        } else {
            deaths += 1
            deathLoss = max(deathLoss, result.loss)
        }
        wrongFiles += result.wrongFiles
        lostDeliveries += result.lostDeliveries
        let how = "crash-sweep --workflow \(workflow) --seed \(seed) --point \(point.number)"
        let mode = point.isPowerCut ? "--power-cut" : "--no-power-cut"
        violations += result.violations.map { "\(how) --file-system \(fileSystem.rawValue) \(mode): \($0)" }
    }
}
