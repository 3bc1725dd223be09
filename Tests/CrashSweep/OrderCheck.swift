package import FaultInjection

/// Checks the order of a program's calls against the rules for surviving a power loss.
///
/// ext4 and XFS hide a missing folder sync, because the next log sync brings the folder to disk as well. A trace does
/// not. The rules state what must not have happened yet, so they also apply to the trace of a killed program.
package struct OrderCheck {
    /// The violations, one sentence each.
    package private(set) var violations: [String] = []

    private let calls: [FileCall]
    private let orphans: Set<String>
    private let isSingle: Bool
    private let copies: Bool

    /// Checks a trace.
    ///
    /// - Parameters:
    ///   - calls: The calls of one process, in the order in which they began.
    ///   - orphans: The names of blobs without a row, which are removed without a commit.
    ///   - isSingle: Whether the process works on one download only, so that each commit belongs to it.
    ///   - copies: Whether the first blob is the copy of a file that another program has left.
    package init(_ calls: [FileCall], orphans: Set<String> = [], isSingle: Bool = true, copies: Bool = false) {
        self.calls = calls.filter { $0.error == nil }
        self.orphans = orphans
        self.isSingle = isSingle
        self.copies = copies
        checkBlobsAreNeverReused()
        checkCreation()
        checkDelivery()
        checkNaming()
        checkRemoval()
        checkSyncedCommits()
    }

    // MARK: Kinds of calls

    private func isLog(_ path: String) -> Bool { path.hasSuffix("/store.sqlite-wal") }
    private func isCommit(_ call: FileCall) -> Bool { call.name == "pwrite" && isLog(call.path) }
    private func isFolderSync(_ call: FileCall, of folder: some StringProtocol) -> Bool {
        ["fsync", "fdatasync"].contains(call.name) && call.path == folder
    }
    private func folder(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[..<$0] } ?? ""
    }
    private func isBlob(_ path: String) -> Bool { TraceFacts.blobName(path) != nil }
    private func isStaging(_ path: String) -> Bool { path.hasSuffix(".resumectl") }
    private func isCreation(_ call: FileCall) -> Bool {
        // O_CREAT and O_EXCL
        call.name == "open" && (call.offset ?? 0) & 0o300 == 0o300
    }
    private func happens(after end: Int, before start: Int, _ condition: (FileCall) -> Bool) -> Bool {
        calls.contains { $0.start > end && $0.end < start && condition($0) }
    }

    // MARK: Rules

    /// A blob's name is used once, and the blob is never truncated, nor written after its removal.
    private mutating func checkBlobsAreNeverReused() {
        var created: Set<String> = []
        var removed: [String: Int] = [:]
        for call in calls {
            guard let name = TraceFacts.blobName(call.path) else { continue }
            let isEmptying = call.name == "open" && (call.offset ?? 0) & 0o1000 != 0
            if call.name == "ftruncate" || isEmptying { violations.append("blob \(name) is truncated") }
            if isCreation(call), !created.insert(name).inserted { violations.append("blob \(name) is made twice") }
            if let end = removed[name], call.start > end, ["pwrite", "open"].contains(call.name) {
                violations.append("blob \(name) is used after its removal")
            }
            if call.name == "unlink" { removed[name] = call.end }
        }
    }

    /// Order: blob created, folder synced, row committed, first byte; a copy has its bytes, synced, before the row.
    private mutating func checkCreation() {
        for (index, creation) in calls.filter({ isCreation($0) && isBlob($0.path) }).enumerated() {
            var first = calls.first { $0.name == "pwrite" && $0.path == creation.path }?.start ?? .max
            if copies, index == 0 {
                checkCopiedBlob(creation)
                first = .max
            }
            let blobs = folder(of: creation.path)
            let sync = calls.first { $0.start > creation.end && isFolderSync($0, of: blobs) }
            guard first != .max || isSingle else { continue }
            let commit = calls.first { $0.start > creation.end && isCommit($0) && $0.end < first }
            if first != .max {
                if commit == nil { violations.append("a blob has bytes before a commit names it") }
                if (sync?.end ?? .max) > first { violations.append("a blob has bytes before its folder is synced") }
            }
            if isSingle, let commit, (sync?.end ?? .max) > commit.start {
                violations.append("a commit follows a new blob before its folder is synced")
            }
            // The folder with the digits may be new as well.
            if isSingle, let commit, !blobs.hasSuffix("/blobs"),
                !calls.contains(where: { isFolderSync($0, of: folder(of: String(blobs))) && $0.end < commit.start })
            {
                violations.append("a commit follows a new blob before the name of its folder is synced")
            }
        }
    }

    private mutating func checkCopiedBlob(_ creation: FileCall) {
        guard let commit = calls.first(where: { $0.start > creation.end && isCommit($0) }) else { return }
        let last = calls.last {
            ["pwrite", "copy_file_range", "ficlone"].contains($0.name) && $0.path == creation.path
                && $0.start < commit.start
        }
        let isSynced = happens(after: last?.end ?? .max, before: commit.start) {
            $0.name == "fdatasync" && $0.path == creation.path
        }
        if !isSynced { violations.append("a commit names a copy whose bytes were not synced") }
    }

    /// Order: bytes synced, commit synced, second link or synced copy, rename, folder synced, commit.
    private mutating func checkDelivery() {
        for staging in calls where staging.name == "link" && isBlob(staging.path) && staging.newPath != nil {
            checkSynced(staging.path, before: staging.start)
        }
        for rename in calls where rename.name == "rename" && isStaging(rename.path) {
            let isCopy = calls.contains { isCreation($0) && $0.path == rename.path && $0.end < rename.start }
            if isCopy {
                checkCopy(rename.path, before: rename.start)
                let name = rename.path.split(separator: "/").last?.dropFirst().prefix(32) ?? ""
                if let blob = calls.first(where: { TraceFacts.blobName($0.path).map { $0 == name } ?? false }) {
                    checkSynced(blob.path, before: rename.start)
                }
            }
            let target = rename.newPath ?? ""
            let sync = calls.first { $0.start > rename.end && isFolderSync($0, of: folder(of: target)) }
            if isSingle, let commit = calls.first(where: { $0.start > rename.end && isCommit($0) }),
                (sync?.end ?? .max) > commit.start
            {
                violations.append("a commit follows the rename before the destination's folder is synced")
            }
        }
    }

    /// For a file without a name: bytes synced, alone or with all others, name, folder synced, commit.
    ///
    /// To replace another file, it gets its first name in the store, which counts as no name if it is moved from there.
    private mutating func checkNaming() {
        for first in calls where first.name == "link" && first.path.contains("/blobs/#") {
            let move = calls.first { $0.name == "rename" && $0.path == first.newPath && $0.start > first.end }
            let naming = move ?? first
            let last = calls.last { $0.name == "pwrite" && $0.path == first.path && $0.start < naming.start }
            let isSynced = happens(after: last?.end ?? 0, before: naming.start) { call in
                call.name == "syncfs" || (call.name == "fdatasync" && call.path == first.path)
            }
            if !isBlob(naming.newPath ?? ""), last != nil, !isSynced {
                violations.append("a file gets its name before its bytes are synced")
            }
            let folderSync = calls.first {
                $0.start > naming.end && isFolderSync($0, of: folder(of: naming.newPath ?? ""))
            }
            let commit = calls.first { $0.start > first.end && isCommit($0) }
            if isSingle, let commit, (folderSync?.end ?? .max) > commit.start {
                violations.append("a commit follows a file's name before its folder is synced")
            }
        }
    }

    /// The most that the death of a process may lose: 1 MiB.
    private static let lossBound: Int64 = 1 << 20

    /// A blob's bytes were synced after the last write, and a commit that records this was synced as well.
    private mutating func checkSynced(_ path: String, before start: Int) {
        let last = calls.last { $0.name == "pwrite" && $0.path == path && $0.start < start }
        // All of it was received in another process, which had to sync it.
        guard let last else { return }
        guard let sync = calls.first(where: { $0.name == "fdatasync" && $0.path == path && $0.start > last.end }),
            sync.end < start
        else {
            violations.append("a blob is delivered whose bytes were not synced")
            return
        }
        // Bytes that the death of a process may lose need not be recorded as complete.
        let length = (last.offset ?? 0) + (last.result ?? 0)
        guard length > Self.lossBound else { return }
        let commit = calls.first { $0.start > sync.end && isCommit($0) }
        let isCommitSynced = happens(after: commit?.end ?? .max, before: start) {
            $0.name == "fdatasync" && isLog($0.path)
        }
        if !isCommitSynced { violations.append("a blob is delivered before a synced commit says that it is complete") }
    }

    private mutating func checkCopy(_ path: String, before start: Int) {
        let changes = ["pwrite", "write", "copy_file_range", "ficlone", "ftruncate"]
        let last = calls.last { $0.path == path && changes.contains($0.name) && ($0.result ?? 0) >= 0 }
        let isSynced = happens(after: last?.end ?? 0, before: start) { $0.name == "fsync" && $0.path == path }
        if last.map({ $0.start > start }) ?? false { violations.append("a copy is written after its rename") }
        if !isSynced { violations.append("a copy is renamed before it was synced") }
    }

    /// A blob is removed after the commit that drops it.
    private mutating func checkRemoval() {
        for removal in calls where removal.name == "unlink" {
            guard let name = TraceFacts.blobName(removal.path), !orphans.contains(name) else { continue }
            // A new blob also replaces it by a commit, which comes after its creation.
            let touch = calls.last { call in
                guard call.start < removal.start, call.name != "unlink" else { return false }
                let isOwn = TraceFacts.blobName(call.path) == name || call.path.contains("/.\(name).")
                return isOwn || (isSingle && isCreation(call) && isBlob(call.path))
            }
            if !happens(after: touch?.end ?? 0, before: removal.start, isCommit) {
                violations.append("blob \(name) is removed before a commit drops it")
            }
        }
    }

    /// Bytes in a blob are synced before the sync of a commit that may record them as durable.
    private mutating func checkSyncedCommits() {
        guard isSingle else { return }
        var lastCommit: FileCall?
        for (index, call) in calls.enumerated() {
            if isCommit(call) { lastCommit = call }
            guard call.name == "fdatasync", isLog(call.path), let commit = lastCommit else { continue }
            // A checkpoint syncs the log as well, then copies it into the database.
            let next = calls[(index + 1)...].first { isCommit($0) || $0.path.hasSuffix("/store.sqlite") }
            guard let next, isCommit(next) else { continue }
            let hasBytes = calls.contains { $0.name == "pwrite" && isBlob($0.path) && $0.end < commit.start }
            let isSynced = calls.contains { $0.name == "fdatasync" && isBlob($0.path) && $0.end < commit.start }
            if hasBytes && !isSynced { violations.append("a commit is synced before the blob's bytes are") }
        }
    }
}
