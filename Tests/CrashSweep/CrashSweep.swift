package import FaultInjection
internal import Foundation
internal import TestSupport

/// Kills the real program at each of its calls that change a file, and checks what is left against the promises.
package struct CrashSweep: Sendable {
    /// The path of `resumectl`.
    package var program: String
    /// The file systems.
    ///
    /// They are swept in parallel, in several lanes if no image is required.
    package var fileSystems: [FileSystemKind]
    /// The names of the workflows; empty for all.
    package var workflows: [String] = []
    /// The seeds of the contents.
    ///
    /// Each gets a complete sweep.
    package var seeds: [UInt64] = [1]
    /// Visits only one point in this many; the seed selects which.
    package var stride = 1
    /// The only point to visit; nil for all.
    package var point: Int?
    /// The faults; nil for process deaths, and for power losses if the file system supports them.
    package var faults: [Fault]?
    /// The folder of the images; nil for memory, if the machine has a memory file system.
    package var folder: String?
    /// Receives progress, one line at a time.
    package var progress: @Sendable (String) -> Void = { _ in }

    /// Creates a sweep over all workflows.
    package init(program: String, fileSystems: [FileSystemKind]) {
        self.program = program
        self.fileSystems = fileSystems
    }

    /// The names of all workflows.
    package static var allWorkflows: [String] { Workflow.all(seed: 1).map(\.name) }

    /// Each kind of call with each error, and partial writes.
    package static let failures: [Fault] =
        ["ENOSPC", "EIO", "EDQUOT", "EINTR"].flatMap { error in
            ["pwrite", "fdatasync", "fsync", "syncfs", "rename", "link", "open", "ftruncate"].map { call in
                Fault.failing(call: call, error: error)
            }
        } + ["pwrite", "copy_file_range"].map { Fault.failing(call: $0, error: "short") }

    /// Whether a file system can be mounted here.
    package static func isAvailable(_ kind: FileSystemKind) -> Bool {
        kind == .plain ? FaultShim.isAvailable : FaultShim.isAvailable && LoopDisk.isAvailable(kind)
    }

    /// Runs the sweep.
    ///
    /// - Returns: The findings.
    /// - Throws: ``SweepFailure`` or a system error if the sweep cannot run.
    package func run() async throws -> SweepReport {
        try await withThrowingTaskGroup(of: [(order: Int, line: SweepReport.Line)].self) { group in
            for kind in fileSystems {
                let lanes = laneCount(kind)
                for lane in 0..<lanes { group.addTask { try await sweep(kind, lane: lane, of: lanes) } }
            }
            let lines = try await group.reduce(into: []) { $0 += $1 }
            return lines.sorted { $0.order < $1.order }.reduce(into: SweepReport()) { $0.add($1.line) }
        }
    }

    /// The number of parallel sites on a file system, each with its own workflows.
    ///
    /// An image takes hundreds of megabytes of memory.
    private func laneCount(_ kind: FileSystemKind) -> Int {
        kind == .plain && point == nil ? min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 4) : 1
    }

    /// Sweeps over a share of the workflows on one file system.
    private func sweep(
        _ kind: FileSystemKind, lane: Int, of lanes: Int
    ) async throws -> [(order: Int, line: SweepReport.Line)] {
        let site = try await Site(kind, program: program, in: folder)
        defer { site.remove() }
        let origin = try await SweepOrigin()
        do {
            var lines: [(order: Int, line: SweepReport.Line)] = []
            var order = 0
            for seed in seeds {
                for workflow in Workflow.all(seed: seed) where isWanted(workflow, on: site) {
                    order += 1
                    guard order % lanes == lane else { continue }
                    let worker = Worker(site: site, origin: origin, workflow: workflow)
                    lines.append((order, try await sweep(worker, seed: seed)))
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
        let faults = faults ?? (kind == .plain ? [.death] : [.death, .powerCut])
        let counts = try await countCalls(worker, of: faults, &line)
        let stride = stride * worker.workflow.thinning
        let first = 1 + Int(seed) % stride
        for number in point.map({ $0...$0 }) ?? 1...max(counts.max() ?? 1, 1) {
            for (fault, count) in zip(faults, counts) where number == point || number <= count {
                guard number == point || (number - first) % stride == 0 else { continue }
                var visit = PointVisit(worker, Point(number: number, fault: fault))
                try await visit.run()
                line.add(visit.result, at: visit.point, seed: seed)
            }
        }
        progress("\(line.text)  (seed \(seed))")
        for violation in line.violations { progress("  \(violation)") }
        return line
    }

    /// Runs the command undisturbed, and counts the calls that each fault applies to.
    private func countCalls(
        _ worker: Worker, of faults: [Fault], _ line: inout SweepReport.Line
    ) async throws -> [Int] {
        let names = faults.map { fault in
            if case .failing(let call, _) = fault { call } else { "*" }
        }
        let distinct = Array(Set(names)).sorted()
        let rules = distinct.map { "\($0):count" }.joined(separator: ";")
        let calls = try await trace(worker, rules: rules)
        let order = OrderCheck(calls, of: worker.workflow)
        line.violations += order.violations.map { "\(worker.workflow.name), undisturbed: \($0)" }
        let counts = try FaultShim.counts(in: worker.site.count).dropFirst()
        let byName = Dictionary(uniqueKeysWithValues: zip(distinct, counts))
        return names.map { byName[$0] ?? 0 }
    }

    /// Runs the command undisturbed.
    private func trace(_ worker: Worker, rules: String = "") async throws -> [FileCall] {
        try await PointVisit.begin(worker, isSynced: false)
        let run = try await worker.site.run(worker.command, rules: worker.workflow.rules(and: rules), isTraced: true)
        worker.site.unfill()
        guard run.ending == .exited(0) else {
            throw SweepFailure("\(worker.workflow.name) ends with \(run.ending) undisturbed: \(run.errors)")
        }
        return try FileCall.trace(worker.site.trace)
    }

    /// Returns the calls of an undisturbed workflow.
    ///
    /// - Parameters:
    ///   - name: The workflow's name.
    ///   - program: The path of `resumectl`.
    /// - Returns: The calls in the order in which they began.
    /// - Throws: ``SweepFailure`` or a system error.
    package static func trace(of name: String, program: String) async throws -> [FileCall] {
        guard let workflow = Workflow.all(seed: 1).first(where: { $0.name == name }) else {
            throw SweepFailure("there is no workflow \(name)")
        }
        let site = try await Site(.plain, program: program, in: nil)
        defer { site.remove() }
        let origin = try await SweepOrigin()
        do {
            let worker = Worker(site: site, origin: origin, workflow: workflow)
            try await worker.prepare()
            let calls = try await CrashSweep(program: program, fileSystems: []).trace(worker)
            await origin.stop()
            return calls
        } catch {
            await origin.stop()
            throw error
        }
    }
}

extension SweepReport.Line {
    fileprivate mutating func add(_ result: PointResult, at point: Point, seed: UInt64) {
        if !result.isReached {
            unreached += 1
        } else {
            switch point.fault {
            case .failing: failures += 1
            case .death:
                deaths += 1
                deathLoss = max(deathLoss, result.loss)
            case .powerCut:
                cuts += 1
                cutLoss = max(cutLoss, result.loss)
            }
        }
        wrongFiles += result.wrongFiles
        lostDeliveries += result.lostDeliveries
        let how = "crash-sweep --workflow \(workflow) --seed \(seed) --point \(point.number)"
        violations += result.violations.map {
            "\(how) --file-system \(fileSystem.rawValue) \(point.fault.options): \($0)"
        }
    }
}
