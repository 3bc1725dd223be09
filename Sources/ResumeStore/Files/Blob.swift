package import ResumeFiles
import ResumeHTTP

/// The name of a blob: a path relative to the store, in one of two fixed formats.
///
/// Names are never reused. If the database loses its last commit, it can only lose bytes, but never combine an old
/// validator with new bytes. Paths in rows that do not have these formats are never opened or removed.
package struct BlobName: Sendable, Hashable {
    /// The folder in `blobs/`, two hexadecimal digits; nil for `blobs/` itself, where older releases made blobs.
    let folder: String?
    /// The file's name: 32 hexadecimal digits.
    package let fileName: String

    /// The path as stored in a row.
    package var path: String { folder.map { "blobs/\($0)/\(fileName)" } ?? "blobs/\(fileName)" }

    /// Creates a random name.
    init(in folder: String? = nil) {
        fileName = Hexadecimal.text(.random(count: 16))
        self.folder = folder
    }

    /// Parses the path of a row; nil if it does not have the format.
    package init?(path: String) {
        let parts = path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts[0] == "blobs", 2...3 ~= parts.count else { return nil }
        self.init(fileName: parts[parts.count - 1], in: parts.count == 3 ? parts[1] : nil)
    }

    /// Parses the name of a file in a folder of blobs; nil if it does not have the format.
    package init?(fileName: String, in folder: String? = nil) {
        guard Self.isHexadecimal(fileName, count: 32), folder.map({ Self.isHexadecimal($0, count: 2) }) ?? true else {
            return nil
        }
        self.fileName = fileName
        self.folder = folder
    }

    private static func isHexadecimal(_ text: String, count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension StoreFolder {
    /// Opens a blob; nil if it is missing or not a regular file.
    package func openBlob(_ name: BlobName) throws(SystemError) -> OpenFile? {
        do {
            guard let folder = try folder(of: name) else { return nil }
            let file = try OpenFile(name.fileName, in: folder.file, flags: O_RDWR)
            return try file.status().kind == .regular ? file : nil
        } catch let error where [ENOENT, ELOOP, ENXIO, EISDIR].contains(error.number) {
            return nil
        }
    }
}

/// Unnamed files, which disappear when they are closed.
extension StoreFolder {
    /// Opens an empty unnamed file next to the blobs; nil if the system does not support them, or cannot name them
    /// later.
    func unnamedBlob() -> OpenFile? {
        // The delivered file must not belong to the group of a shared store.
        guard Self.canNameFiles, !root.file.isShared else { return nil }
        // With the permissions of delivered files; other users cannot open it before.
        return try? OpenFile(".", in: blobs.file, flags: resume_files_unnamed_flags, mode: OpenFile.ordinaryMode)
    }

    private static let canNameFiles = unsafe resume_files_unnamed_flags != 0 && access("/proc/self/fd", X_OK) == 0

    /// An empty blob that no row refers to yet.
    ///
    /// It holds the creation lock while it exists, so that orphans cannot be removed between the creation of the file and
    /// the commit of its row.
    final class BlobCreation: Sendable {
        let name: BlobName
        let file: OpenFile
        /// Its folder, opened before it got its name, so that a sync reports all errors since then.
        let folder: Folder
        private let lock: StoreLock

        /// Creates a file, or gives an unnamed one a name and its permissions.
        init(of unnamed: OpenFile? = nil, in store: StoreFolder) throws {
            name = BlobName(in: BlobFolders.next())
            lock = try StoreLock(creationsIn: store)
            try lock.holdShared()
            do {
                folder = try store.makeFolder(of: name)
                if let unnamed {
                    try SystemError.check("fchmod", folder.path(of: name.fileName)) {
                        fchmod(unnamed.descriptor, 0o600)
                    }
                    try unnamed.name(name.fileName, in: folder)
                }
                file = try unnamed ?? OpenFile(name.fileName, in: folder.file, flags: O_RDWR | O_CREAT | O_EXCL)
            } catch {
                // deinit is not called.
                lock.unlock()
                throw error
            }
        }

        deinit { lock.unlock() }
    }
}
