internal import ResumeHTTP
internal import ResumeSQLite

/// What can be read of a damaged database, and what of that can be proved.
extension Rebuild {
    typealias Saved = (entry: Entry, blocks: [Block])
    typealias SavedQueue = (name: String, requests: [QueuedRequest])

    /// The database; nil where it is too damaged to be opened, or gone.
    ///
    /// - Throws: `SQLiteError` where it cannot be had for another reason, such as a program that holds it: that is no
    ///   damage.
    func opened() throws -> Connection? {
        guard try folder.root.status(of: StoreFolder.databaseName) != nil else { return nil }
        do {
            return try Connection.open(path: folder.databasePath)
        } catch let error where Self.isDamage(error) {
            return nil
        }
    }

    static func isDamage(_ error: SQLiteError) -> Bool {
        switch error.code {
        case .corrupt, .notADatabase, .error, .schema, .constraint: true
        default: false
        }
    }

    /// What a body reads; nil where the database is damaged there.
    private func readable<Result>(_ body: () throws -> Result?) throws -> Result? {
        do {
            return try body()
        } catch let error as SQLiteError where Self.isDamage(error) {
            return nil
        }
    }

    /// What can be read: rows from the first one on until one cannot be read, then from the last one backwards.
    func salvage() throws -> (entries: [Saved], events: [Event], queues: [SavedQueue]) {
        guard let connection = try opened() else { return ([], [], []) }
        var entries: [Int64: Saved] = [:]
        let walks: [(sql: String, start: Int64)] = [
            ("SELECT id FROM download WHERE id > ? ORDER BY id LIMIT 1", 0),
            ("SELECT id FROM download WHERE id < ? ORDER BY id DESC LIMIT 1", .max),
        ]
        let columns = try readable { try connection.columnsThere() }
        for walk in walks {
            var position = walk.start
            while let id = try readable({ try connection.integer(walk.sql, .integer(position)) }),
                // In a damaged page the order may be another one, without an end.
                entries[id] == nil, walk.start == 0 ? id > position : id < position
            {
                position = id
                guard let entry = try readable({ try connection.entry(id: id, columns: columns) }) else { continue }
                entries[id] = (entry, try readable { try connection.blocks(of: id) } ?? [])
            }
        }
        let events = try readable { try connection.events(key: nil) } ?? []
        let queues = try readable { try connection.queues() } ?? []
        let queued = try queues.map { queue in
            SavedQueue(name: queue.name, requests: try readable { try connection.queued(in: queue.id) } ?? [])
        }
        return (entries.values.sorted { $0.entry.id < $1.entry.id }, events, queued)
    }

    /// The entry with no bytes but those whose checksums are right; nil where none are.
    func proved(_ entry: Entry, _ blocks: [Block], _ report: inout RebuildReport) throws -> Saved? {
        guard entry.representation != nil, let path = entry.chunks.first?.path, let name = BlobName(path: path),
            let file = try folder.openBlob(name)
        else {
            report.lost.append(entry.key)
            return nil
        }
        let held = entry.chunks
        let covered = blocks.within(held)
        let right = Set(covered).subtracting(try file.damaged(among: covered))
        var saved = entry
        saved.chunks = held
        for gap in gaps(between: right.map(\.range), upTo: held.map(\.range.upperBound).max() ?? 0) {
            saved.chunks = saved.chunks.removing(gap)
        }
        if saved.chunks.contiguousEnd != entry.totalBytes { saved.state = .partial }
        guard saved.receivedBytes > 0 else {
            report.lost.append(entry.key)
            return nil
        }
        report.saved.append(entry.key)
        report.savedBytes = report.savedBytes.addingSaturating(saved.receivedBytes)
        return (saved, right.sorted { $0.offset < $1.offset })
    }

    /// Where an index is damaged two rows may have one key: the one with more bytes stays.
    func onePerKey(_ all: [Saved], _ report: inout RebuildReport) -> [Saved] {
        var best: [String: Saved] = [:]
        for saved in all {
            let key = saved.entry.key
            guard let other = best[key] else {
                best[key] = saved
                continue
            }
            let worse = min(saved.entry.receivedBytes, other.entry.receivedBytes)
            if saved.entry.receivedBytes > other.entry.receivedBytes { best[key] = saved }
            report.savedBytes -= worse
            report.lost.append(key)
        }
        report.saved = best.keys.sorted()
        return best.values.sorted { $0.entry.id < $1.entry.id }
    }

    private func gaps(between ranges: [Range<Int64>], upTo end: Int64) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position: Int64 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > position { gaps.append(position..<range.lowerBound) }
            position = max(position, range.upperBound)
        }
        if end > position { gaps.append(position..<end) }
        return gaps
    }
}
