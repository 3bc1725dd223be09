#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif
internal import ResumeHTTP
internal import ResumeSQLite

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
    /// - Throws: ``StoreError``: `noStore`, `notAStore`, `inUse`, `busy`, `noSpace`, `io`.
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
        do {
            _ = try folder.prepareDatabaseFile(creating: false)
        } catch let error as StoreError where error.code == .damaged {
            // There are blobs, and no database: nothing can be saved, and nothing is lost.
        }
    }

    func run() throws -> RebuildReport {
        let presence = try Presence(alone: folder)
        defer { withExtendedLifetime(presence) {} }
        let lock = try StoreLock(writersIn: folder.root)
        return try lock.exclusively {
            var report = RebuildReport()
            try removeSalvage()
            guard try !isWhole() else {
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
            } catch {
                _ = try? folder.root.remove(StoreFolder.rebuiltName)
                throw error
            }
            try setAside(keeping: Set(kept.flatMap { $0.entry.chunks.map(\.path) }), &report)
            return report
        }
    }

    /// Whether SQLite finds nothing wrong, and the schema is the store's.
    ///
    /// - Throws: ``StoreError``: `newerStore`, `notAStore` for a database that is somebody else's, as far as it can be
    ///   read.
    private func isWhole() throws -> Bool {
        // One that was left in the middle has taken the log away already.
        guard try folder.root.status(of: StoreFolder.rebuiltName) == nil else { return false }
        do {
            guard try hasKnownFormat(), let connection = try opened() else { return false }
            guard try Schema.verifiedVersion(connection, at: folder.path) > 0 else { return false }
            return try connection.text("PRAGMA integrity_check(1)") == "ok"
        } catch let error as StoreError where error.code == .newerStore {
            throw error
        } catch let error as StoreError where error.code == .notAStore {
            let application = try? opened()?.integer("PRAGMA application_id")
            if let application, application != DownloadStore.applicationID { throw error }
            return false
        } catch let error as StoreError where error.code == .damaged {
            return false
        } catch let error as SQLiteError where Self.isDamage(error) {
            return false
        }
    }

    /// Whether the header asks for a journal or a log, as SQLite knows them; one that asks for more can only be read.
    private func hasKnownFormat() throws -> Bool {
        guard try folder.root.status(of: StoreFolder.databaseName) != nil else { return true }
        var versions: [UInt8] = [1, 1]
        let file = try OpenFile(StoreFolder.databaseName, in: folder.root.file, flags: O_RDONLY)
        _ = try unsafe versions.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: 18) }
        return versions.allSatisfy { $0 <= 2 }
    }

    /// A new database beside the old one, on disk before it takes its place.
    private func makeDatabase(_ entries: [Saved], _ events: [Event], _ queues: [SavedQueue]) throws {
        for suffix in ["", "-journal"] { try folder.root.remove(StoreFolder.rebuiltName + suffix) }
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
            for saved in entries {
                try connection.insert(saved.entry, saved.blocks)
                try connection.record(
                    Event(
                        key: saved.entry.key, at: WallClock.milliseconds, kind: .damaged, reason: .rebuilt,
                        bytes: saved.entry.receivedBytes))
            }
        }
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
        // The log goes last: it must never lie beside a database that is not its own. Until the new one has taken its
        // place nobody opens a store in which it lies.
        for suffix in ["-shm", "-wal"] {
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
