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
    /// The keys of entries that could be read, and of which no byte could be proved.
    public var lost: [String] = []
    /// The folder with the old database and the blobs that no saved entry names.
    public var asideFolder: String?
    /// How many blobs were set aside.
    public var asideBlobs = 0
}

extension DownloadStore {
    /// Makes a new database from what can be read of a damaged one, and sets everything else aside. Nothing is erased.
    ///
    /// An entry is saved with the bytes whose checksums are right. Nobody else may have the store open.
    ///
    /// - Parameter path: The store's folder.
    /// - Returns: What was saved, and where the rest is.
    /// - Throws: ``StoreError``: `noStore`, `notAStore`, `inUse`, `busy`, `noSpace`, `io`.
    public static func rebuild(at path: String) async throws -> RebuildReport {
        do {
            return try await Blocking.run { try Rebuild(at: path).run() }
        } catch {
            throw StoreError(wrapping: error, at: path)
        }
    }
}

/// The steps of a rebuild. At each of them the store has its old database or its new one, never none.
private struct Rebuild {
    private let folder: StoreFolder
    private static let newName = "rebuilt.sqlite"

    init(at path: String) throws {
        folder = try StoreFolder(path: path, creating: false)
        _ = try folder.prepareDatabaseFile(creating: false)
    }

    func run() throws -> RebuildReport {
        let presence = try Presence(alone: folder)
        defer { withExtendedLifetime(presence) {} }
        let lock = try WriterLock(in: folder.root)
        return try lock.exclusively {
            var report = RebuildReport()
            guard try !isWhole() else {
                report.wasWhole = true
                return report
            }
            let salvaged = salvage()
            let kept = try salvaged.entries.compactMap { try proved($0.entry, $0.blocks, &report) }
            try makeDatabase(kept, salvaged.events)
            try setAside(keeping: Set(kept.flatMap { $0.entry.chunks.map(\.path) }), &report)
            return report
        }
    }

    /// Whether SQLite finds nothing wrong, and the schema is the store's.
    ///
    /// - Throws: ``StoreError``: `newerStore`, `notAStore` for a database that is somebody else's, as far as it can be
    ///   read.
    private func isWhole() throws -> Bool {
        guard let connection = try? Connection.open(path: folder.databasePath) else { return false }
        do {
            guard try Schema.verifiedVersion(connection, at: folder.path) > 0 else { return false }
            return try connection.text("PRAGMA integrity_check(1)") == "ok"
        } catch let error as StoreError where error.code == .newerStore {
            throw error
        } catch let error as StoreError where error.code == .notAStore {
            let application = try? connection.integer("PRAGMA application_id")
            if let application, application != DownloadStore.applicationID { throw error }
            return false
        } catch {
            return false
        }
    }

    private typealias Saved = (entry: Entry, blocks: [Block])

    /// What can be read: rows from the first one on until one cannot be read, then from the last one backwards.
    private func salvage() -> (entries: [Saved], events: [Event]) {
        guard let connection = try? Connection.open(path: folder.databasePath) else { return ([], []) }
        var entries: [Int64: Saved] = [:]
        let walks: [(sql: String, start: Int64)] = [
            ("SELECT id FROM download WHERE id > ? ORDER BY id LIMIT 1", 0),
            ("SELECT id FROM download WHERE id < ? ORDER BY id DESC LIMIT 1", .max),
        ]
        for walk in walks {
            var position = walk.start
            while let id = try? connection.integer(walk.sql, .integer(position)), entries[id] == nil {
                position = id
                guard let entry = try? connection.entry(id: id) else { continue }
                entries[id] = (entry, (try? connection.blocks(of: id)) ?? [])
            }
        }
        let events = (try? connection.events(key: nil)) ?? []
        return (entries.values.sorted { $0.entry.id < $1.entry.id }, events)
    }

    /// The entry with no bytes but those whose checksums are right; nil where none are.
    private func proved(_ entry: Entry, _ blocks: [Block], _ report: inout RebuildReport) throws -> Saved? {
        guard entry.representation != nil, let path = entry.chunks.first?.path, let name = BlobName(path: path),
            let file = try folder.openBlob(name)
        else {
            report.lost.append(entry.key)
            return nil
        }
        let held = entry.chunks
        let covered = blocks.filter { block in held.contains { $0.range.contains(block.range) } }
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

    /// A new database beside the old one, on disk before it takes its place.
    private func makeDatabase(_ entries: [Saved], _ events: [Event]) throws {
        for suffix in ["", "-journal"] { try folder.root.remove(Self.newName + suffix) }
        _ = try OpenFile(Self.newName, in: folder.root.file, flags: O_RDWR | O_CREAT | O_EXCL)
        let connection = try Connection.open(path: "\(folder.path)/\(Self.newName)")
        try Schema.create(connection)
        try connection.transaction(.immediate, durability: .power) {
            for event in events { try connection.record(event) }
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
        let name = "aside-\(WallClock.milliseconds)"
        try Folder.create(name, in: folder.root)
        let aside = try Folder(name, in: folder.root)
        // The log first: it must never lie beside a database that is not its own.
        for suffix in ["-shm", "-wal"] {
            let file = StoreFolder.databaseName + suffix
            if try folder.root.status(of: file) != nil { try folder.root.move(file, to: aside) }
        }
        try folder.root.link(StoreFolder.databaseName, to: aside)
        try aside.file.synchronize()
        try folder.root.move(Self.newName, to: folder.root, as: StoreFolder.databaseName)
        for blob in try folder.blobs.names().compactMap({ BlobName(fileName: $0) }) where !kept.contains(blob.path) {
            try folder.blobs.move(blob.fileName, to: aside)
            report.asideBlobs += 1
        }
        for changed in [aside, folder.blobs, folder.root] { try changed.file.synchronize() }
        report.asideFolder = "\(folder.path)/\(name)"
    }
}

extension Reason {
    fileprivate static let rebuilt = Reason(
        code: .init(rawValue: "rebuilt"),
        text: "The database was damaged and made anew; these bytes have the checksums that were recorded for them.")
}
