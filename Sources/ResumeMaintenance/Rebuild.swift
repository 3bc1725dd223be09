internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
public import ResumeStore

/// What became of a store whose database was damaged.
public struct RebuildReport: Sendable {
    /// Whether the database was whole: then nothing was done.
    public var wasWhole = false
    /// The keys of the entries that were saved.
    public var saved: [String] = []
    /// How many of their bytes have the checksums that were recorded for them.
    public var savedBytes: Int64 = 0
    /// The keys that could be read of entries of which no byte could be proved.
    public var lost: [String] = []
    /// The folder with the old database and the blobs that no saved entry names.
    public var asideFolder: String?
    /// How many blobs were set aside.
    public var asideBlobs = 0
}

extension DownloadStore {
    /// Makes a new database from what can be read of a damaged one, and sets everything else aside.
    ///
    /// Nothing is erased.
    /// An entry is saved with the bytes whose checksums are right. Nobody else may have the store open.
    ///
    /// - Parameter path: The store's folder.
    /// - Returns: What was saved, and where the rest is.
    /// - Throws: `StoreError`: `noStore`, `notAStore`, `inUse`, `busy`, `noSpace`, `io`.
    public static func rebuild(at path: String) async throws -> RebuildReport {
        try StoreError.refuseForkedChild()
        do {
            return try await Blocking.run { try Rebuild(at: path).run() }
        } catch {
            throw StoreError(wrapping: error, at: path)
        }
    }
}

/// The steps of a rebuild.
///
/// At each of them the store has its old database or its new one, never none.
struct Rebuild {
    let folder: StoreFolder

    init(at path: String) throws {
        folder = try StoreFolder(path: path, creating: false)
        // Also where there are blobs and no database: then nothing can be saved, and nothing is lost.
        try folder.requireStore()
    }

    func run() throws -> RebuildReport {
        let presence = try Presence(alone: folder)
        defer { withExtendedLifetime(presence) {} }
        try folder.requireOwnFiles()
        let lock = try StoreLock(writersIn: folder.root)
        return try lock.exclusively {
            var report = RebuildReport()
            try undoInterrupted()
            // What was moved back is looked at as well.
            try folder.requireOwnFiles()
            try removeSalvage()
            guard try !isWhole() else {
                try removeRebuilt()
                report.wasWhole = true
                return report
            }
            // The next opening fills it again.
            folder.giveUpReserve()
            let salvaged = try salvage()
            let kept = onePerKey(try salvaged.entries.compactMap { try proved($0.entry, $0.blocks, &report) }, &report)
            report.lost += salvaged.unread.subtracting(report.saved).sorted()
            do {
                try makeDatabase(kept, salvaged.events, salvaged.queues)
                try setAside(keeping: Set(kept.flatMap { $0.entry.chunks.map(\.path) }), &report)
            } catch {
                // What cannot be undone now, the next rebuild undoes.
                try? undoInterrupted()
                try? removeRebuilt()
                throw error
            }
            return report
        }
    }

    /// Whether SQLite finds nothing wrong, and the schema is the store's.
    ///
    /// - Throws: `StoreError`: `newerStore`, `notAStore` for a database that is somebody else's, as far as it can be
    ///   read.
    private func isWhole() throws -> Bool {
        do {
            guard try hasKnownFormat(), let connection = try opened() else { return false }
            let version = try Schema.verifiedVersion(connection, at: folder.path)
            guard version > 0, try connection.hasNumbersLeft() else { return false }
            // The rows of an older version are read once they were migrated.
            guard try version < Schema.version || connection.unreadableRows() == 0 else { return false }
            return try connection.text("PRAGMA integrity_check(1)") == "ok"
        } catch let error as StoreError where error.code == .newerStore {
            throw error
        } catch let error as StoreError where error.code == .notAStore {
            guard try isOwn() else { throw error }
            return false
        } catch let error as StoreError where error.code == .damaged {
            return false
        } catch let error as SQLiteError where Self.isDamage(error) {
            return false
        }
    }

    /// Whether a database is a store's although its header names another program, as one wrong byte of it does.
    ///
    /// One with the very tables of a store is one.
    private func isOwn() throws -> Bool {
        guard let connection = try opened() else { return true }
        let texts = try SchemaTexts(of: connection)
        // Without a table it is nobody's: its log was lost, which had them.
        if texts.isEmpty { return true }
        let known = try (1...Schema.version).map { try SchemaTexts.expected(at: $0) }
        guard try connection.count("PRAGMA application_id") != DownloadStore.applicationID else { return true }
        return known.contains { texts.sharesTable(with: $0) }
    }

    /// Whether the header has a format version that SQLite can write: a rollback journal (1) or a write-ahead log (2).
    ///
    /// It opens a database with a higher one for reading only.
    private func hasKnownFormat() throws -> Bool {
        guard try folder.root.status(of: StoreFolder.databaseName) != nil else { return true }
        var versions: [UInt8] = [1, 1]
        let file = try OpenFile(StoreFolder.databaseName, in: folder.root.file, flags: O_RDONLY)
        _ = try unsafe versions.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: 18) }
        return versions.allSatisfy { $0 <= 2 }
    }

    /// A new database beside the old one, on disk before it takes its place.
    private func makeDatabase(_ entries: [Saved], _ events: [Event], _ queues: [SavedQueue]) throws {
        try removeRebuilt()
        _ = try OpenFile(StoreFolder.rebuiltName, in: folder.root.file, flags: O_RDWR | O_CREAT | O_EXCL)
        let connection = try Connection.open(path: folder.path(of: StoreFolder.rebuiltName))
        try Schema.create(connection)
        try connection.transaction(.immediate, durability: .power) {
            for event in events { try connection.record(event) }
            for queue in queues {
                let id = try connection.queue(named: queue.name)
                for var request in queue.requests {
                    // Its number is given anew.
                    request.id = nil
                    _ = try connection.setQueued(request, in: id)
                }
            }
            for (number, saved) in zip(Int64(1)..., entries) {
                // New ones, since planted ones may leave none for other entries.
                var entry = saved.entry
                entry.id = number
                try connection.insert(entry, saved.blocks)
                try connection.record(
                    Event(
                        key: saved.entry.key, at: WallClock.milliseconds, kind: .damaged, reason: .rebuilt,
                        bytes: saved.entry.receivedBytes))
            }
        }
    }

    /// Moves back what an interrupted rebuild has set aside: log, journal and blobs belong to the database that is there.
    private func undoInterrupted() throws {
        for aside in try folder.rebuildLinks() {
            for suffix in ["-shm", "-wal", "-journal"] {
                let name = StoreFolder.databaseName + suffix
                guard let status = try aside.status(of: name), status.kind == .regular else { continue }
                // One without bytes was made by a program that only looked.
                guard try folder.root.status(of: name)?.size ?? 0 == 0 else { continue }
                try aside.move(name, to: folder.root)
            }
            for blob in try aside.names().compactMap({ BlobName(fileName: $0) })
            where try folder.blobs.status(of: blob.fileName) == nil {
                try aside.move(blob.fileName, to: folder.blobs)
            }
            for changed in [folder.root, folder.blobs, aside] { try changed.file.synchronize() }
            // Last, since it says that there is something to be moved back.
            try aside.remove(StoreFolder.databaseName)
            // What else somebody has put into it stays.
            try? folder.root.removeFolder(aside.file.path)
        }
    }

    /// Removes a new database that has not taken the old one's place.
    private func removeRebuilt() throws(SystemError) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try folder.root.remove(StoreFolder.rebuiltName + suffix) }
    }

    /// Keeps the old database under another name, and puts the new one in its place.
    private func setAside(keeping kept: Set<String>, _ report: inout RebuildReport) throws {
        let name = "\(StoreFolder.asidePrefix)\(WallClock.milliseconds)"
        try Folder.create(name, in: folder.root)
        let aside = try Folder(name, in: folder.root)
        if try folder.root.status(of: StoreFolder.databaseName) != nil {
            try folder.root.link(StoreFolder.databaseName, to: aside)
        }
        for blob in try folder.blobs.names().compactMap({ BlobName(fileName: $0) }) where !kept.contains(blob.path) {
            try folder.blobs.move(blob.fileName, to: aside)
            report.asideBlobs += 1
        }
        try aside.file.synchronize()
        // Log and journal go last: they must never lie beside a database that is not their own. Until the new one has
        // taken its place nobody opens a store in which it lies.
        for suffix in ["-shm", "-wal", "-journal"] {
            let file = StoreFolder.databaseName + suffix
            if try folder.root.status(of: file) != nil { try folder.root.move(file, to: aside) }
        }
        try folder.root.move(StoreFolder.rebuiltName, to: folder.root, as: StoreFolder.databaseName)
        for changed in [aside, folder.blobs, folder.root] { try changed.file.synchronize() }
        report.asideFolder = "\(folder.path)/\(name)"
    }
}

extension Reason {
    fileprivate static let rebuilt = Reason(
        code: .init(rawValue: "rebuilt"),
        text: "the damaged database was rebuilt; these bytes match their checksums")
}
