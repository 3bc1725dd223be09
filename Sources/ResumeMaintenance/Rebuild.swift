import ResumeFiles
import ResumeHTTP
import ResumeSQLite
public import ResumeStore

extension DownloadStore {
    /// The result of rebuilding a store.
    public struct RebuildReport: Sendable {
        /// Whether the database was intact, so that nothing was done.
        package var wasWhole = false
        /// The keys of the saved entries.
        public var saved: [String] = []
        /// The number of their bytes that match the recorded checksums.
        package var savedBytes: Int64 = 0
        /// The keys of entries without bytes that match their checksums, as far as the keys are readable.
        public var lost: [String] = []
        /// The folder with the old database and the blobs that do not belong to saved entries.
        public var asideFolder: String?
        /// The number of blobs in `asideFolder`.
        package var asideBlobs = 0
    }

    /// Creates a new database from the readable content of a damaged one, and sets everything else aside.
    ///
    /// Nothing is deleted. Entries are saved with the bytes whose checksums match. The store must not be open anywhere.
    ///
    /// - Parameter path: The store's folder.
    /// - Returns: What was saved, and where the rest is.
    /// - Throws: `StoreError`: `noStore`, `notAStore`, `inUse`, `busy`, `noSpace`, `io`.
    public static func rebuild(at path: String) async throws -> RebuildReport {
        try await rebuild(at: path, isShared: false)
    }

    /// Does the same for a store that others may use.
    package static func rebuild(at path: String, isShared: Bool) async throws -> RebuildReport {
        try StoreError.refuseForkedChild()
        return try await Blocking.run {
            try StoreError.wrapping(at: path) { try Rebuild(at: path, isShared: isShared).run() }
        }
    }
}

/// The steps of a rebuild.
///
/// After each step the store has either its old or its new database.
struct Rebuild {
    let folder: StoreFolder

    init(at path: String, isShared: Bool) throws {
        folder = try StoreFolder(path: path, creating: false, isShared: isShared)
        // Also if there are blobs but no database: then nothing can be saved, and nothing is lost.
        try folder.requireStore()
    }

    func run() throws -> RebuildReport {
        let presence = try Presence(in: folder, isAlone: true)
        defer { withExtendedLifetime(presence) {} }
        try folder.requireOwnFiles()
        let lock = try StoreLock(writersIn: folder.root)
        return try lock.exclusively {
            var report = RebuildReport()
            try undoInterrupted()
            // Checks the files that were moved back as well.
            try folder.requireOwnFiles()
            try removeDatabase(StoreFolder.salvageName)
            guard try !isWhole() else {
                try removeDatabase(StoreFolder.rebuiltName)
                report.wasWhole = true
                return report
            }
            // The reserve is filled again when the store is opened.
            folder.giveUpReserve()
            let salvaged = try salvage()
            let kept = onePerKey(try salvaged.entries.compactMap { try proved($0.entry, $0.blocks) })
            report.saved = kept.map(\.entry.key).sorted()
            report.savedBytes = kept.sum(\.entry.receivedBytes)
            let ids = Set(kept.map(\.entry.id))
            report.lost = salvaged.entries.map(\.entry).filter { !ids.contains($0.id) }.map(\.key)
            report.lost += salvaged.unread.subtracting(report.saved).sorted()
            do {
                try createDatabase(StoreFolder.rebuiltName) { try fill($0, with: kept, salvaged) }
                try setAside(keeping: Set(kept.flatMap { $0.entry.chunks.map(\.path) }), &report)
            } catch {
                // If this fails, the next rebuild undoes it.
                try? undoInterrupted()
                try? removeDatabase(StoreFolder.rebuiltName)
                throw error
            }
            return report
        }
    }

    /// Whether SQLite finds no damage, and the schema is the store's.
    ///
    /// - Throws: `StoreError`: `newerStore`; `notAStore` for a readable database that belongs to another program.
    private func isWhole() throws -> Bool {
        do {
            guard let connection = try opened() else { return false }
            try folder.requireKnownFormat(of: connection)
            let version = try Schema.verifiedVersion(connection, at: folder.path)
            guard version > 0, try connection.hasNumbersLeft() else { return false }
            // Rows of an older version are checked after the migration.
            guard try version < Schema.version || connection.unreadableRows() == 0 else { return false }
            return try connection.text("PRAGMA integrity_check(1)") == "ok"
        } catch let error as StoreError where error.code == .notAStore {
            guard try isOwn() else { throw error }
            return false
        } catch let error where Self.isDamage(error) {
            return false
        }
    }

    /// Whether a database belongs to a store although its header names another program, as a single wrong byte can
    /// cause.
    ///
    /// It does if it has a table of a store.
    private func isOwn() throws -> Bool {
        guard let connection = try opened() else { return true }
        let texts = try Schema.Texts(of: connection)
        // A database without tables has lost its log, which contained them.
        if try texts.isEmpty || connection.count("PRAGMA application_id") == DownloadStore.applicationID { return true }
        return try (1...Schema.version).contains { try texts.sharesTable(with: .expected(at: $0)) }
    }

    /// Creates a database of the current schema, and closes it when it has been filled.
    func createDatabase(_ name: String, filling fill: (borrowing Connection) throws -> Void) throws {
        try removeDatabase(name)
        _ = try OpenFile(name, in: folder.root.file, flags: O_RDWR | O_CREAT | O_EXCL)
        let connection = try Connection.open(path: folder.path(of: name))
        try Schema.create(connection)
        try fill(connection)
    }

    /// Fills the new database, and flushes it to disk before it replaces the old one.
    private func fill(_ connection: borrowing Connection, with entries: [Saved], _ salvaged: Salvaged) throws {
        try connection.transaction(.immediate, durability: .power) {
            for event in salvaged.events { try connection.record(event) }
            for record in salvaged.delivered {
                if let file = record.file {
                    try connection.renewDelivery(of: file, at: record.path, from: record.url)
                }
            }
            var queues: [String: Int64] = [:]
            for (name, request) in salvaged.requests {
                let queue = try queues[name] ?? connection.queue(named: name)
                queues[name] = queue
                try connection.restore(request, in: queue)
            }
            for (number, saved) in zip(Int64(1)..., entries) {
                // New numbers, since manipulated ones could leave none for other entries.
                var entry = saved.entry
                entry.id = number
                try connection.insert(entry, saved.blocks)
                try connection.record(.damaged, key: entry.key, reason: Reason("rebuilt"), bytes: entry.receivedBytes)
            }
        }
    }

    /// Moves back what an interrupted rebuild set aside: log, journal and blobs belong to the current database.
    private func undoInterrupted() throws {
        for aside in try folder.rebuildLinks() {
            try moveLogs(from: aside, to: folder.root)
            try moveBlobs(from: aside, into: folder.blobs) { try folder.status(of: $0) == nil }
            for case let part? in try StoreFolder.blobFolders(in: aside) { try? aside.removeFolder(part) }
            for changed in [folder.root, folder.blobs, aside] { try changed.file.synchronize() }
            // Removed last, since it indicates that there are files to move back.
            try aside.remove(StoreFolder.databaseName)
            // Other files in the folder are kept.
            try? folder.root.removeFolder(aside.name)
        }
    }

    /// Moves the log and the journal of the database.
    private func moveLogs(from source: Folder, to place: Folder) throws {
        for suffix in ["-shm", "-wal", "-journal"] {
            let name = StoreFolder.databaseName + suffix
            guard let status = try source.status(of: name), status.kind == .regular else { continue }
            // An empty one was created by a program that only read the database.
            if try place.status(of: name)?.size ?? 0 == 0 { try source.move(name, to: place) }
        }
    }

    /// Moves blobs to the folders with the same names in another place.
    ///
    /// - Returns: The number of moved blobs.
    @discardableResult
    private func moveBlobs(
        from source: Folder, into place: Folder, where isMoved: (BlobName) throws -> Bool
    ) throws -> Int {
        var count = 0
        for part in try StoreFolder.blobFolders(in: source) {
            guard let old = try StoreFolder.blobFolder(part, in: source) else { continue }
            let names = try old.names().compactMap { BlobName(fileName: $0, in: part) }.filter(isMoved)
            if names.isEmpty { continue }
            if let part { try Folder.create(part, in: place) }
            let new = try part.map { try Folder($0, in: place) } ?? place
            for name in names { try old.move(name.fileName, to: new) }
            for changed in [new, old] { try changed.file.synchronize() }
            count += names.count
        }
        return count
    }

    /// Keeps the old database under another name, and replaces it with the new one.
    private func setAside(keeping kept: Set<String>, _ report: inout RebuildReport) throws {
        let name = "\(StoreFolder.asidePrefix)\(WallClock.milliseconds)"
        try Folder.create(name, in: folder.root)
        let aside = try Folder(name, in: folder.root)
        if try folder.root.status(of: StoreFolder.databaseName) != nil {
            try folder.root.link(StoreFolder.databaseName, to: aside)
        }
        report.asideBlobs = try moveBlobs(from: folder.blobs, into: aside) { !kept.contains($0.path) }
        try aside.file.synchronize()
        // Log and journal are moved last: they must never be next to a database they do not belong to. Until the new
        // database has replaced the old one, no one else opens the store.
        try moveLogs(from: folder.root, to: aside)
        try folder.root.move(StoreFolder.rebuiltName, to: folder.root, as: StoreFolder.databaseName)
        for changed in [aside, folder.blobs, folder.root] { try changed.file.synchronize() }
        report.asideFolder = "\(folder.path)/\(name)"
    }
}

package typealias RebuildReport = DownloadStore.RebuildReport
