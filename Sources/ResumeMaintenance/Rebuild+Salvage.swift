internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
internal import ResumeStore

/// The readable content of a damaged database.
struct Salvaged {
    var entries: [Rebuild.Saved] = []
    /// The keys of entries without any other readable content.
    var unread: Set<String> = []
    var events: [Event] = []
    var queues: [Rebuild.SavedQueue] = []
    var delivered: [DeliveryRecord] = []

    var isEmpty: Bool { entries.isEmpty && unread.isEmpty && queues.isEmpty }

    /// The number of entries with recorded checksums.
    var provable: Int { entries.count { !$0.blocks.isEmpty } }
}

/// Reading a damaged database, and checking what was read against the checksums.
extension Rebuild {
    typealias Saved = (entry: Entry, blocks: [Block])
    typealias SavedQueue = (name: String, requests: [QueuedRequest])

    /// Opens a database in the store's folder; nil if it is missing or too damaged to be opened.
    ///
    /// - Throws: `SQLiteError` if it cannot be opened for a reason other than damage, such as a lock of another
    ///   program.
    func opened(_ name: String = StoreFolder.databaseName) throws -> Connection? {
        guard try folder.root.status(of: name) != nil else { return nil }
        do {
            return try Connection.open(path: folder.path(of: name))
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

    /// Returns the result of a closure; nil if the database is damaged where it reads.
    private func readable<Result>(_ body: () throws -> Result?) throws -> Result? {
        do {
            return try body()
        } catch let error as SQLiteError where Self.isDamage(error) {
            return nil
        }
    }

    /// Reads the database with its own first page, or with a new one if that gives at least as many entries: a single
    /// wrong byte in the old one could change the meaning of a column.
    func salvage() throws -> Salvaged {
        let own = try salvage(from: StoreFolder.databaseName)
        guard let other = try withNewFirstPage({ try salvage(from: $0) }) else { return own }
        return own.isEmpty || other.provable > 0 && other.provable >= own.provable ? other : own
    }

    private func salvage(from name: String) throws -> Salvaged {
        var salvaged = Salvaged()
        guard let connection = try opened(name) else { return salvaged }
        let columns = try readable { try connection.columnsThere() }
        var found: Set<Int64> = []
        let ids = try walk("id", from: .integer(0), to: .integer(.max)) { try connection.value($0, $1) }
        for case .integer(let id) in ids {
            if let entry = try readable({ try connection.entry(id: id, columns: columns) }) {
                found.insert(id)
                salvaged.entries.append((entry, try readable { try connection.blocks(of: id) } ?? []))
            } else if let key = try readable({ try connection.key(of: id) }) {
                salvaged.unread.insert(key)
            }
        }
        // The index of keys leads to rows between damaged pages, and has the keys of those on damaged ones. Blobs sort
        // after texts.
        let keys = try walk("key", from: .text(""), to: .blob([])) { try connection.value($0, $1) }
        let known = Set(salvaged.entries.map { Array($0.entry.key.utf8) })
        for case .text(let key) in keys where !known.contains(Array(key.utf8)) {
            guard let entry = try readable({ try connection.entry(key: key, columns: columns) }) else {
                salvaged.unread.insert(key)
                continue
            }
            guard found.insert(entry.id).inserted else { continue }
            salvaged.entries.append((entry, try readable { try connection.blocks(of: entry.id) } ?? []))
        }
        salvaged.entries.sort { $0.entry.id < $1.entry.id }
        salvaged.unread.subtract(salvaged.entries.map(\.entry.key))
        salvaged.events = try readable { try connection.events(key: nil) } ?? []
        salvaged.delivered =
            try readable {
                try connection.delivered(after: .min, since: .min, limit: .max).compactMap(\.record)
            } ?? []
        let queues = try readable { try connection.queues() } ?? []
        let queuedColumns = try readable { try connection.queuedColumnsThere() }
        for queue in queues {
            let requests = try readable { try connection.queued(in: queue.id, columns: queuedColumns) } ?? []
            // A queue without requests is created again when it is opened.
            if !requests.isEmpty { salvaged.queues.append((queue.name, requests)) }
        }
        return salvaged
    }

    /// Reads the values of a column of `download` from the first one on until one cannot be read, then from the last
    /// one backwards.
    private func walk(
        _ column: String, from first: SQLiteValue, to last: SQLiteValue,
        _ read: (String, SQLiteValue) throws -> SQLiteValue?
    ) throws -> [SQLiteValue] {
        var values: [SQLiteValue] = []
        // Compares bytes, as SQLite does: two strings that are equal in Swift may be different keys.
        var seen: Set<[UInt8]> = []
        for (position, rest) in [(first, "> ? ORDER BY \(column)"), (last, "< ? ORDER BY \(column) DESC")] {
            let sql = "SELECT \(column) FROM download WHERE \(column) \(rest) LIMIT 1"
            var position = position
            // In a damaged page the order may be wrong, so that the loop would not end.
            while let next = try readable({ try read(sql, position) }), seen.insert(Array("\(next)".utf8)).inserted {
                values.append(next)
                position = next
            }
        }
        return values
    }

    /// Returns the entry with only those bytes whose checksums match; nil if there are none.
    func proved(_ entry: Entry, _ blocks: [Block], _ report: inout RebuildReport) throws -> Saved? {
        guard entry.representation != nil, let name = entry.blobName, let file = try folder.openBlob(name) else {
            report.lost.append(entry.key)
            return nil
        }
        let held = entry.chunks
        let covered = blocks.within(held)
        let right = Set(covered).subtracting(try file.damaged(among: covered))
        var saved = entry
        saved.chunks = held
        for gap in right.map(\.range).gaps(upTo: held.map(\.range.upperBound).max() ?? 0) {
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

    /// Keeps one row per key, the one with more bytes: if an index is damaged, two rows may have the same key.
    func onePerKey(_ all: [Saved], _ report: inout RebuildReport) -> [Saved] {
        var best: [[UInt8]: Saved] = [:]
        for saved in all {
            let key = Array(saved.entry.key.utf8)
            guard let other = best[key] else {
                best[key] = saved
                continue
            }
            let worse = min(saved.entry.receivedBytes, other.entry.receivedBytes)
            if saved.entry.receivedBytes > other.entry.receivedBytes { best[key] = saved }
            report.savedBytes -= worse
            report.lost.append(saved.entry.key)
        }
        report.saved = best.values.map(\.entry.key).sorted()
        return best.values.sorted { $0.entry.id < $1.entry.id }
    }

}

extension Connection {
    /// Returns the integer or text in the first column of the first row.
    fileprivate borrowing func value(_ sql: String, _ position: SQLiteValue) throws -> SQLiteValue? {
        try first(sql, position) { row in
            row.integer(0).map(SQLiteValue.integer) ?? row.text(0).map(SQLiteValue.text)
        }
    }

    fileprivate borrowing func key(of id: Int64) throws -> String? {
        try first("SELECT key FROM download WHERE id = ?", id) { $0.text(0) }
    }
}
