internal import FaultInjection

/// What a trace shows about the blobs of a killed program.
struct TraceFacts {
    /// The facts about one blob.
    struct Blob: Equatable {
        /// The number of bytes written, by several parallel streams or before this program.
        var written: Int64 = 0
        /// The end of the written bytes when a successful sync began.
        var synced: Int64 = 0
        /// The number of bytes synced before a commit that was synced as well.
        var durable: Int64 = 0
        /// Whether its name was removed, or was about to be.
        var isUnlinked = false
    }

    /// By file name.
    private(set) var blobs: [String: Blob] = [:]

    /// Reads the calls of one program, in the order in which they began.
    init(_ calls: [FileCall]) {
        var writes: [String: [(range: Range<Int64>, at: Int)]] = [:]
        // Syncs that wait for a commit, and those whose commit waits for a sync.
        var syncs: [(name: String, bytes: Int64, at: Int)] = []
        var commits: [(name: String, bytes: Int64, at: Int)] = []
        for call in calls {
            if call.path.hasSuffix("/store.sqlite-wal") {
                if call.name == "pwrite", call.error == nil {
                    let ready = syncs.filter { $0.at < call.start }
                    commits += ready.map { ($0.name, $0.bytes, call.end) }
                    syncs.removeAll { $0.at < call.start }
                } else if call.name == "fdatasync", call.error == nil {
                    for commit in commits where commit.at < call.start {
                        let known = blobs[commit.name]?.durable ?? 0
                        blobs[commit.name]?.durable = max(known, commit.bytes)
                    }
                    commits.removeAll { $0.at < call.start }
                }
            }
            guard let name = Self.blobName(call.path) else { continue }
            switch call.name {
            case "pwrite":
                guard let offset = call.offset, let count = call.result else { continue }
                writes[name, default: []].append((offset..<offset + count, call.end))
            case "fdatasync", "fsync":
                guard call.error == nil else { continue }
                let before = (writes[name] ?? []).filter { $0.at < call.start }.map(\.range)
                let known = blobs[name]?.synced ?? 0
                blobs[name, default: Blob()].synced = max(known, before.map(\.upperBound).max() ?? 0)
                syncs.append((name, Self.count(before), call.end))
            case "unlink":
                blobs[name, default: Blob()].isUnlinked = true
            default: break
            }
        }
        for (name, writes) in writes { blobs[name, default: Blob()].written = Self.count(writes.map(\.range)) }
    }

    /// The number of bytes in ranges, including those before the first range, which existed already.
    private static func count(_ ranges: [Range<Int64>]) -> Int64 {
        var (count, end): (Int64, Int64) = (0, 0)
        for (index, range) in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }).enumerated() {
            if index == 0 { (count, end) = (range.lowerBound, range.lowerBound) }
            count += max(range.upperBound - max(range.lowerBound, end), 0)
            end = max(end, range.upperBound)
        }
        return count
    }

    /// The name of the blob that a path belongs to.
    static func blobName(_ path: String) -> String? {
        var parts = path.split(separator: "/").suffix(3)
        // In `blobs` itself, or in a folder with two digits there.
        if parts.count == 3, parts.first != "blobs" || parts.dropFirst().first?.count != 2 { parts = parts.dropFirst() }
        guard parts.first == "blobs", parts.count > 1, let name = parts.last?.prefix(32), name.utf8.count == 32 else {
            return nil
        }
        return String(name)
    }
}
