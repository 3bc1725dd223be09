internal import FaultInjection

/// What must hold after a call that failed.
extension PointVisit {
    /// The sysexits statuses in the program's contract.
    private static let statuses: [Int32] = [0, 1, 65, 66, 73, 74, 75]

    /// It exited, and reported the reason if it failed.
    mutating func checkFailure(_ run: ProgramRun, _ calls: [FileCall]) {
        guard case .exited(let status) = run.ending, Self.statuses.contains(status) else {
            result.violations.append("it ended with \(run.ending): \(run.errors)")
            return
        }
        result.expect(status == 0 || run.errors.hasPrefix("resumectl:"), "status \(status) without a word")
        // SQLite itself treats an interrupted sync as a failed one.
        let isOfSQLite = calls.contains {
            $0.fault != nil && $0.path.contains("store.sqlite") && $0.name == "fdatasync"
        }
        if case .failing(_, "EINTR") = point.fault, !isOfSQLite {
            result.expect(status == 0, "an interrupted call shows: \(run.errors)")
        }
        if case .failing(_, "short") = point.fault {
            result.expect(status == 0, "a short write shows: \(run.errors)")
        }
    }

    /// After a failed sync of a blob, no row claims bytes that were not synced, or rewritten, since.
    mutating func checkClaims(_ entries: [HeldEntry], _ calls: [FileCall], _ run: ProgramRun) {
        let failed = calls.filter { $0.fault == "error" && $0.name == "fdatasync" && $0.error != "EINTR" }
        for naming in calls where naming.name == "link" && naming.error == nil && naming.path.contains("/blobs/#") {
            let isLost = failed.contains { $0.path == naming.path && $0.end < naming.start }
            result.expect(!isLost, "a small file that could not be synced was named")
        }
        for name in Set(failed.compactMap { TraceFacts.blobName($0.path) }) {
            let blob = SafeBytes(of: name, in: calls)
            for entry in entries {
                for claim in entry.blobs where TraceFacts.blobName(claim.path) == name {
                    result.expect(
                        claim.durableEnd <= blob.synced,
                        "\(claim.durableEnd) bytes are called durable, and \(blob.synced) are")
                    result.expect(
                        claim.end <= blob.held,
                        "\(claim.end) bytes are claimed after a failed sync of all but \(blob.held)")
                }
            }
            let isDelivered = calls.contains { $0.name == "rename" && $0.error == nil && $0.path.contains(name) }
            result.expect(!isDelivered || blob.synced == blob.held, "what could not be synced was delivered")
        }
    }
}

/// How much of a blob is reliable after failed syncs, which make the kernel drop its pages.
private struct SafeBytes {
    /// Bytes from 0 on that a sync brought to disk.
    var synced: Int64 = 0
    /// Bytes from 0 on that were written, and not lost by a failed sync.
    var held: Int64 = 0

    init(of name: String, in calls: [FileCall]) {
        let calls = calls.filter { TraceFacts.blobName($0.path) == name }
        // The bytes of an earlier process precede the first byte that this one writes, and were synced at its end.
        let first = calls.first { $0.name == "pwrite" }?.offset ?? .max
        (synced, held) = (first, first)
        for call in calls {
            switch call.name {
            case "pwrite":
                guard let offset = call.offset, let count = call.result, offset <= held else { continue }
                held = max(held, offset + count)
            case "fdatasync":
                if call.error == nil { synced = held } else { held = synced }
            default: break
            }
        }
    }
}
