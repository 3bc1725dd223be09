internal import FaultInjection
internal import Foundation
internal import Glibc
internal import TestSupport

/// What happens to the program.
package enum Fault: Sendable, Equatable {
    /// It dies before a call that changes something.
    case death
    /// It dies, and unsynced data is lost as well.
    case powerCut
    /// A named call fails with an error, or does half of its work if the error is `short`.
    case failing(call: String, error: String)

    /// The options of `crash-sweep` that repeat it.
    var options: String {
        switch self {
        case .death: "--no-power-cut"
        case .powerCut: "--power-cut"
        case .failing(let call, let error): "--fail \(call)=\(error)"
        }
    }
}

/// One moment and its fault.
struct Point: Sendable, Equatable {
    /// The number of the call, from 1, among those that the fault applies to.
    var number: Int
    var fault: Fault

    /// The rules in the format of the shim.
    var rules: String {
        switch fault {
        case .death, .powerCut: "*:kill:\(number)"
        case .failing(let call, "short"): "\(call):short:\(number)"
        case .failing(let call, let error): "\(call):error=\(error):\(number)"
        }
    }

    var isPowerCut: Bool { fault == .powerCut }
    var isFailing: Bool { !isPowerCut && fault != .death }
}

/// The findings at a point.
struct PointResult: Sendable {
    /// Whether the program reached that call.
    var isReached = true
    /// The violations; empty if there are none.
    var violations: [String] = []
    /// Files with a wrong byte.
    var wrongFiles = 0
    /// Complete downloads that were lost.
    var lostDeliveries = 0
    /// The greatest number of written bytes that were fetched again.
    var loss: Int64 = 0

    mutating func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { violations.append(text()) }
    }
}

/// Kills the program at a point and checks what is left against the promises.
struct PointVisit {
    let worker: Worker
    let point: Point
    var result = PointResult()
    /// The names of files that were told to be delivered.
    private var told: Set<String> = []

    var site: Site { worker.site }
    var workflow: Workflow { worker.workflow }

    /// What may be fetched again after the death of a process: one mebibyte and one piece for each stream.
    private var bound: Int64 { ((1 << 20) + (256 << 10)) * Int64(workflow.connections) }
    /// The overlap that is fetched again for comparison.
    ///
    /// Several streams leave gaps, which have two ends.
    ///
    /// The samples of a file that another program has left are compared by each process that dies before they agree.
    private var overlap: Int64 {
        if workflow.foreign != nil { return 3 * 140 * 4096 }
        return workflow.connections > 1 ? 16 * 4096 : 4096
    }
    /// The free space on a disk that should become full.
    private static let freeSpace: Int64 = 9 << 18

    init(_ worker: Worker, _ point: Point) {
        self.worker = worker
        self.point = point
    }

    /// Visits the point.
    mutating func run() async throws {
        try await Self.begin(worker, isSynced: point.isPowerCut)
        let run = try await site.run(worker.command, rules: workflow.rules(and: point.rules), isTraced: true)
        let calls = try FileCall.trace(site.trace)
        if point.isFailing {
            result.isReached = calls.contains { $0.fault == "error" || $0.fault == "short" }
            checkFailure(run, calls)
        } else {
            guard run.isKilled else {
                result.isReached = false
                result.expect(run.ending == .exited(0), "it ended with \(run.ending) before the point: \(run.errors)")
                return
            }
            let order = OrderCheck(calls, of: workflow)
            for violation in order.violations { result.violations.append("order: \(violation)") }
        }
        if point.isPowerCut { try site.cut() }
        site.unfill()
        let delivered = try checkDestinations(atCrash: true)
        checkTold(run, delivered)
        let facts = TraceFacts(calls)
        var entries = try await list()
        if point.isFailing { checkClaims(entries, calls, run) }
        try await verify(entries, facts)
        if workflow.command != .get {
            let again = try await site.run(worker.command, afterCut: point.isPowerCut)
            let isPurge = workflow.command == .purge(2)
            // What the store has already is neither removed nor adopted again.
            let isDone =
                again.ending == .exited(0) || (isPurge && again.ending == .exited(1))
                || (workflow.command == .adopt && again.ending == .exited(1) && again.errors.contains("already has"))
            result.expect(isDone, "the same command again ended with \(again.ending): \(again.errors)")
            entries = try await list()
        }
        try await getAll(entries, facts, delivered)
        try await cleanUp()
        try await getWithoutStore()
    }

    /// Restores the prepared state.
    static func begin(_ worker: Worker, isSynced: Bool) async throws {
        try await worker.site.restore()
        worker.origin.serve(worker.workflow.files)
        if worker.workflow.fillsDisk { try await worker.site.fill(leaving: freeSpace) }
        if isSynced { try worker.site.sync() }
    }

    /// Each destination is whole, or unchanged.
    ///
    /// - Returns: The names of the existing files.
    private mutating func checkDestinations(atCrash: Bool) throws -> Set<String> {
        var delivered: Set<String> = []
        for file in workflow.files {
            let path = worker.path(of: file)
            let before = workflow.replacesFile && file.name == workflow.files[0].name ? Worker.replaced : nil
            guard Files.exists(path) else {
                result.expect(atCrash && before == nil, "\(file.name) is not there")
                continue
            }
            let bytes = try Files.bytes(path)
            if Bytes.areEqual(bytes, workflow.expected(file)) {
                delivered.insert(file.name)
            } else if !atCrash || before.map({ Bytes.areEqual(bytes, $0) }) != true {
                result.wrongFiles += 1
                result.violations.append("\(file.name) has wrong bytes, \(bytes.count) of them")
            }
        }
        return delivered
    }

    /// Every delivery that was reported exists, whatever happens afterwards.
    private mutating func checkTold(_ run: ProgramRun, _ delivered: Set<String>) {
        for event in run.objects where event["event"] as? String == "finished" {
            let name = (event["path"] as? String ?? "").split(separator: "/").last.map(String.init) ?? ""
            told.insert(name)
            guard !delivered.contains(name) else { continue }
            result.lostDeliveries += 1
            result.violations.append("\(name) was told to be delivered, and is not there")
        }
    }

    private mutating func list() async throws -> [HeldEntry] {
        let run = try await site.run(["list", "--json"], afterCut: point.isPowerCut)
        result.expect(run.ending == .exited(0), "list ended with \(run.ending): \(run.errors)")
        return run.objects.map(HeldEntry.init)
    }

    /// The findings of verify are limited to what a crash may leave.
    private mutating func verify(_ entries: [HeldEntry], _ facts: TraceFacts) async throws {
        let run = try await site.run(["verify", "--json"], afterCut: point.isPowerCut)
        let isEmpty = workflow.preparation == .nothing || workflow.foreign != nil
        let isNone = run.ending == .exited(66) && isEmpty
        guard [.exited(0), .exited(65)].contains(run.ending) || isNone else {
            result.violations.append("verify ended with \(run.ending): \(run.errors)")
            return
        }
        for finding in run.objects {
            let kind = finding["kind"] as? String ?? ""
            let blobs = entries.first { $0.key == finding["key"] as? String }?.blobs ?? []
            let isAllowed: Bool
            switch kind {
            case "orphan":
                isAllowed = true
            case "blob-missing":
                // Its row may come back after a power loss, never while the machine keeps running.
                let isUnlinked = blobs.contains { facts.blobs[TraceFacts.blobName($0.path) ?? ""]?.isUnlinked == true }
                isAllowed = workflow.isDamaged || (point.isPowerCut && isUnlinked)
            case "blob-short":
                // A row may claim bytes that are not trusted after a reboot.
                let isDurable = blobs.allSatisfy { blob in size("\(site.store)/\(blob.path)") >= blob.durableEnd }
                isAllowed = workflow.isDamaged || (point.isPowerCut && isDurable)
            default:
                isAllowed = false
            }
            result.expect(isAllowed, "verify finds \(finding)")
        }
    }

    private func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Completes all downloads, and checks how much was fetched again.
    private mutating func getAll(_ entries: [HeldEntry], _ facts: TraceFacts, _ delivered: Set<String>) async throws {
        // All of a list is recorded before its first request, and survives a power cut.
        let wasAsked = !worker.origin.takeAsked().isEmpty
        let isResumed = workflow.isList && wasAsked
        let command = isResumed ? ["resume", "--quiet"] : worker.get(workflow.files)
        let run = try await site.run(command, afterCut: point.isPowerCut)
        result.expect(run.ending == .exited(0), "\(command[0]) ended with \(run.ending): \(run.errors)")
        let asked = worker.origin.takeAsked()
        if isResumed, !point.isPowerCut {
            // After a power cut, a file that is whole may be requested again: its job may not be recorded as done.
            let again = asked.keys.filter { told.contains(String($0.dropFirst())) }
            result.expect(again.isEmpty, "resume requested \(again) again, which were done")
        }
        _ = try checkDestinations(atCrash: false)
        for file in workflow.files {
            let length = Int64(workflow.expected(file).count)
            let kept = asked[file.path].map { max(length - $0 + overlap, 0) } ?? length
            if let entry = entries.first(where: { $0.url == worker.origin.url(file) && $0.etag == file.etag }) {
                let isMissing =
                    entry.blobs.contains { size("\(site.store)/\($0.path)") == 0 } && asked[file.path] == nil
                let claimed = point.isPowerCut ? entry.durable : entry.received
                let isThere = entry.blobs.allSatisfy { blob in
                    facts.blobs[TraceFacts.blobName(blob.path) ?? ""]?.isUnlinked != true
                }
                result.expect(
                    kept >= claimed || workflow.isDamaged || !isThere || isMissing,
                    "\(file.name): \(claimed) bytes were listed as held, and only \(kept) were kept")
                if entry.isComplete, isThere {
                    result.expect(asked[file.path] == nil, "\(file.name) was complete, and was asked for again")
                }
            }
            if workflow.files.count == 1, workflow.foreign?.isOlder != true, !point.isFailing,
                !delivered.contains(file.name)
            {
                compare(kept, of: length, with: facts)
            }
        }
    }

    /// Compares the kept part of the only file with what the trace says was written.
    private mutating func compare(_ kept: Int64, of length: Int64, with facts: TraceFacts) {
        let blobs = facts.blobs.values.filter { !$0.isUnlinked }
        let written = blobs.map(\.written).max() ?? 0
        let durable = blobs.map(\.durable).max() ?? 0
        result.loss = max(written - kept, 0)
        if durable >= length, kept < length {
            result.lostDeliveries += 1
            result.violations.append("all \(length) bytes were safe, and only \(kept) were kept")
        }
        let safe = point.isPowerCut ? durable : written
        result.expect(safe - kept <= bound, "\(safe) bytes were safe, and only \(kept) were kept")
    }

    /// Without a store, the files that it has delivered are still those of the server, and not refused.
    private mutating func getWithoutStore() async throws {
        // Ranges and server names are other files to a new store, and those of others are not delivered by this program.
        guard workflow.selection == nil, !workflow.replacesFile else { return }
        try FileManager.default.removeItem(atPath: site.store)
        let run = try await site.run(worker.get(workflow.files), afterCut: point.isPowerCut)
        result.expect(run.ending == .exited(0), "get without the store ended with \(run.ending): \(run.errors)")
        _ = try checkDestinations(atCrash: false)
    }

    /// Nothing is left of a delivered file: no row, no blob, no other link beside a destination.
    private mutating func cleanUp() async throws {
        if let foreign = workflow.foreign {
            result.expect(
                Bytes.areEqual(try Files.bytes(site.foreign), foreign.bytes),
                "the file of the other program was changed")
        }
        let run = try await site.run(["gc", "--max-size", "0", "--json"], afterCut: point.isPowerCut)
        result.expect(run.ending == .exited(0), "gc ended with \(run.ending): \(run.errors)")
        let removed = run.objects.first?["removed"] as? [Any]
        result.expect(removed?.isEmpty == true, "entries are left: \(run.output)")
        let blobs = try Files.names(in: "\(site.store)/blobs")
        result.expect(blobs.isEmpty, "blobs are left: \(blobs)")
        let check = try await site.run(["verify"], afterCut: point.isPowerCut)
        result.expect(check.ending == .exited(0), "verify at the end: \(check.output)")
        let names = try Files.names(in: worker.destination)
        result.expect(
            names == workflow.files.map(\.name).sorted(),
            "beside the destination there are \(names.joined(separator: ", "))")
    }
}

extension Workflow {
    fileprivate var isDamaged: Bool {
        if case .damaged = preparation { true } else { false }
    }
}

/// Fast byte comparison, even in a debug build.
enum Bytes {
    static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        first.count == second.count
            && first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    guard let one = first.baseAddress, let other = second.baseAddress else { return true }
                    return memcmp(one, other, first.count) == 0
                }
            }
    }
}

extension OrderCheck {
    /// Checks the trace of a workflow.
    init(_ calls: [FileCall], of workflow: Workflow) {
        self.init(
            calls, orphans: [Worker.orphan], isSingle: workflow.files.count == 1, copies: workflow.foreign != nil)
    }
}
