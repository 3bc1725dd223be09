package import ResumeFiles
import ResumeHTTP
import Synchronization

/// The folders in which this process creates blobs.
///
/// A folder with very many files is slow on some file systems. Each process uses one folder at a time, so that few
/// folders must be synced.
enum BlobFolders {
    private struct State {
        var current = BlobFolders.name(Int.random(in: 0..<256))
        /// The number of blobs in the current folder.
        var count = 0
        /// The folders whose own names were synced by this process.
        var synced: Set<FileStatus.Identity> = []
    }

    /// The number of blobs after which another folder is used.
    private static let most = 256
    private static let state = Mutex(State())

    /// Returns the name of a folder: two hexadecimal digits.
    static func name(_ number: Int) -> String { Hexadecimal.text([UInt8(truncatingIfNeeded: number)]) }

    /// Returns the number of a folder; `blobs` itself has the last one.
    static func number(_ name: String?) -> Int64 { name.flatMap { Int64($0, radix: 16) } ?? 256 }

    /// Returns the folder for the next blob.
    static func next() -> String {
        state.withLock { state in
            if state.count == most { state = State(synced: state.synced) }
            state.count += 1
            return state.current
        }
    }

    /// Makes the name of a new blob survive a power loss, and once that of its folder.
    static func synchronize(_ creation: StoreFolder.BlobCreation, in store: StoreFolder) async throws {
        try await FolderSynchronizer.shared.synchronize(creation.folder)
        let folder = try creation.folder.file.status().identity
        if state.withLock({ $0.synced.contains(folder) }) { return }
        try await FolderSynchronizer.shared.synchronize(store.blobs)
        state.withLock { state in
            if state.synced.count >= 4 * most { state.synced = [] }
            state.synced.insert(folder)
        }
    }
}

extension StoreFolder {
    /// Returns the folders of blobs in `blobs` or in a folder like it, in order; at last nil for that folder itself.
    package static func blobFolders(in blobs: Folder) throws(SystemError) -> [String?] {
        let listing = try Folder.Listing(of: blobs)
        let names = listing.next(4096)
        // If it has many blobs of an older release, looking for 256 names is faster than reading the rest.
        let isComplete = listing.next(1).isEmpty
        let known = isComplete ? Set(names) : nil
        return (0..<256).map { BlobFolders.name($0) }.filter { known?.contains($0) ?? true } + [nil]
    }

    /// Opens a folder of blobs in `blobs` or in a folder like it; nil if there is none, or another program put something
    /// else in its place.
    package static func blobFolder(_ name: String?, in blobs: Folder) throws(SystemError) -> Folder? {
        guard let name else { return blobs }
        do {
            return try Folder(name, in: blobs)
        } catch let error where [ENOENT, ENOTDIR, ELOOP].contains(error.number) {
            return nil
        }
    }

    /// Opens the folder of a blob; nil if it does not exist.
    func folder(of name: BlobName) throws(SystemError) -> Folder? {
        try Self.blobFolder(name.folder, in: blobs)
    }

    /// Opens the folder of a new blob, and creates it if it does not exist.
    func makeFolder(of name: BlobName) throws(SystemError) -> Folder {
        guard let part = name.folder else { return blobs }
        if let folder = try folder(of: name) { return folder }
        try Folder.create(part, in: blobs)
        return try Folder(part, in: blobs)
    }

    /// Returns the metadata of a blob; nil if it does not exist.
    package func status(of name: BlobName) throws(SystemError) -> FileStatus? {
        try folder(of: name)?.status(of: name.fileName)
    }

    /// Removes a blob, and returns the number of bytes freed on disk.
    @discardableResult
    func remove(_ name: BlobName) throws(SystemError) -> Int64 {
        try folder(of: name)?.remove(name.fileName) ?? 0
    }

    /// Removes blobs that no row names.
    ///
    /// - Throws: ``StoreError``
    package func remove(_ names: [BlobName]) throws {
        try StoreError.wrapping { for name in names { try remove(name) } }
    }

    /// Whether there is a blob; then a database that is empty or missing was lost.
    func hasBlobs() throws(SystemError) -> Bool {
        for part in try Self.blobFolders(in: blobs) {
            guard let folder = try Self.blobFolder(part, in: blobs) else { continue }
            let listing = try Folder.Listing(of: folder)
            while case let names = listing.next(256), !names.isEmpty {
                if names.contains(where: { BlobName(fileName: $0) != nil }) { return true }
            }
        }
        return false
    }
}
