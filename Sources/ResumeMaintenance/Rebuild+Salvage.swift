import ResumeFiles
import ResumeHTTP
import ResumeSQLite
import ResumeStore

/// Reading a damaged database, and checking what was read against the checksums.
extension Rebuild {
    typealias Saved = (entry: Entry, blocks: [Block])

    /// Opens a database in the store's folder; nil if it is missing or too damaged to be opened.
    ///
    /// - Throws: `SQLiteError` if it cannot be opened for a reason other than damage, such as a lock of another
    ///   program.
    func opened(_ name: String = StoreFolder.databaseName) throws -> Connection? {
        guard try folder.root.status(of: name) != nil else { return nil }
        return try readable { try Connection.open(path: folder.path(of: name)) }
    }

    static func isDamage(_ error: any Error) -> Bool {
        if let error = error as? StoreError { return error.code == .damaged }
        return switch (error as? SQLiteError)?.code {
        case .corrupt, .notADatabase, .error, .schema, .constraint: true
        default: false
        }
    }

    /// Reads the database with its own first page, or with a new one if that gives at least as many entries: a single
    /// wrong byte in the old one could change the meaning of a column.
    func salvage() throws -> Salvaged {
        let own = try salvage(from: StoreFolder.databaseName)
        guard let other = try withNewFirstPage({ try salvage(from: $0) }) else { return own }
        var best = own.isEmpty || other.provable > 0 && other.provable >= own.provable ? other : own
        // The pages of later tables may have moved.
        best.delivered = (own.delivered.count > other.delivered.count ? own : other).delivered
        return best
    }

    private func salvage(from name: String) throws -> Salvaged {
        var salvaged = Salvaged()
        guard let connection = try opened(name) else { return salvaged }
        let columns = try readable { try connection.columnsThere() }
        var found: [Int64: Entry] = [:]
        for case .integer(let id) in try connection.walk("id", from: .integer(0), to: .integer(.max)) {
            if let entry = try readable({ try connection.entry(id: id, columns: columns) }) {
                found[id] = entry
            } else if let key = try readable({ try connection.text("SELECT key FROM download WHERE id = ?", id) }) {
                salvaged.unread.insert(key)
            }
        }
        // The index of keys leads to rows between damaged pages, and has the keys of those on damaged ones. Blobs sort
        // after texts.
        let known = Set(found.values.map { Array($0.key.utf8) })
        for case .text(let key) in try connection.walk("key", from: .text(""), to: .blob([]))
        where !known.contains(Array(key.utf8)) {
            if let entry = try readable({ try connection.entry(key: key, columns: columns) }) {
                found[entry.id] = found[entry.id] ?? entry
            } else {
                salvaged.unread.insert(key)
            }
        }
        salvaged.entries = try found.values.sorted { $0.id < $1.id }.map { entry in
            (entry, try readable { try connection.blocks(of: entry.id) } ?? [])
        }
        salvaged.unread.subtract(found.values.map(\.key))
        salvaged.events = try readable { try connection.events(key: nil) } ?? []
        let delivered = try readable { try connection.delivered(after: .min, since: .min, limit: .max) }
        salvaged.delivered = delivered?.compactMap(\.record) ?? []
        for queue in try readable({ try connection.queues() }) ?? [] {
            let requests = try readable { try connection.salvaged(of: queue.id) } ?? []
            salvaged.requests += requests.map { (queue.name, $0) }
        }
        return salvaged
    }

    /// Returns the entry with only those bytes whose checksums match; nil if there are none.
    func proved(_ entry: Entry, _ blocks: [Block]) throws -> Saved? {
        guard entry.representation != nil, let name = entry.blobName, let file = try folder.openBlob(name) else {
            return nil
        }
        let covered = blocks.within(entry.chunks)
        let right = Set(covered).subtracting(try file.damaged(among: covered))
        var saved = entry
        let gaps = right.map(\.range).gaps(upTo: entry.chunks.map(\.end).max() ?? 0)
        saved.content?.chunks = gaps.reduce(entry.chunks) { $0.removing($1) }
        if saved.chunks.contiguousEnd != entry.totalBytes { saved.content?.state = .partial }
        return saved.receivedBytes > 0 ? (saved, right.sorted { $0.offset < $1.offset }) : nil
    }

    /// Keeps one row per key, the one with more bytes: if an index is damaged, two rows may have the same key.
    func onePerKey(_ all: [Saved]) -> [Saved] {
        let best = Dictionary(all.map { (Array($0.entry.key.utf8), $0) }) {
            $1.entry.receivedBytes > $0.entry.receivedBytes ? $1 : $0
        }
        return best.values.sorted { $0.entry.id < $1.entry.id }
    }

    /// The readable content of a damaged database.
    struct Salvaged {
        var entries: [Rebuild.Saved] = []
        /// The keys of entries without any other readable content.
        var unread: Set<String> = []
        var events: [Event] = []
        /// The requests of queues; a queue without any is created again when it is opened.
        var requests: [(queue: String, request: Job)] = []
        var delivered: [DeliveryRecord] = []

        var isEmpty: Bool { entries.isEmpty && unread.isEmpty && requests.isEmpty }

        /// The number of entries with recorded checksums.
        var provable: Int { entries.count { !$0.blocks.isEmpty } }
    }
}

/// Returns the result of a closure; nil if the database is damaged where it reads.
private func readable<Result: ~Copyable>(_ body: () throws -> Result?) throws -> Result? {
    do {
        return try body()
    } catch let error where Rebuild.isDamage(error) {
        return nil
    }
}

extension Connection {
    /// Reads the values of a column of `download` from the first one on until one cannot be read, then from the last
    /// one backwards.
    fileprivate borrowing func walk(
        _ column: String, from first: SQLiteValue, to last: SQLiteValue
    ) throws -> [SQLiteValue] {
        var values: [SQLiteValue] = []
        // Compares bytes, as SQLite does: two strings that are equal in Swift may be different keys.
        var seen: Set<[UInt8]> = []
        for (position, rest) in [(first, "> ? ORDER BY \(column)"), (last, "< ? ORDER BY \(column) DESC")] {
            let sql = "SELECT \(column) FROM download WHERE \(column) \(rest) LIMIT 1"
            var position = position
            func next() throws -> SQLiteValue? {
                try self.first(sql, position) { row in
                    row.integer(0).map(SQLiteValue.integer) ?? row.text(0).map(SQLiteValue.text)
                }
            }
            // In a damaged page the order may be wrong, so that the loop would not end.
            while let next = try readable(next), seen.insert(Array("\(next)".utf8)).inserted {
                values.append(next)
                position = next
            }
        }
        return values
    }
}
