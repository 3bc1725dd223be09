internal import ResumeFiles

/// The name of a blob: a path relative to the store, of one form only.
///
/// No name is ever used twice, so a database that falls back a commit can only forget bytes, never pair an old
/// validator with new ones. A path from a row that is not of this form is never opened or removed.
package struct BlobName: Sendable, Hashable {
    /// 32 hexadecimal digits, the file's name in `blobs/`.
    package let fileName: String

    /// The path as it stands in a row.
    package var path: String { "blobs/\(fileName)" }

    /// A fresh random name.
    init() {
        var generator = SystemRandomNumberGenerator()
        let words = [generator.next(), generator.next()].map { word in
            let digits = String(word as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        fileName = words.joined()
    }

    /// Reads a row's path; nil where it is not of the form.
    package init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "blobs" else { return nil }
        self.init(fileName: String(parts[1]))
    }

    /// Reads a file's name; nil where it is not of the form.
    package init?(fileName: String) {
        let isHex: (UInt8) -> Bool = { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard fileName.utf8.count == 32, fileName.utf8.allSatisfy(isHex) else { return nil }
        self.fileName = fileName
    }
}

extension StoreFolder {
    /// Opens a blob; nil where it is missing or is no regular file.
    package func openBlob(_ name: BlobName) throws(SystemError) -> OpenFile? {
        do {
            let file = try OpenFile(name.fileName, in: blobs.file, flags: O_RDWR)
            return try file.status().kind == .regular ? file : nil
        } catch {
            if error.isMissing || error.number == ELOOP || error.number == ENXIO || error.number == EISDIR {
                return nil
            }
            throw error
        }
    }
}

/// An empty blob that no row names yet.
///
/// It holds the lock of creations for as long as it lives, so that the sweep of orphans cannot come between the file and
/// the commit of its row.
final class BlobCreation: Sendable {
    let name: BlobName
    let file: OpenFile
    private let lock: StoreLock

    init(in folder: StoreFolder) throws {
        name = BlobName()
        lock = try StoreLock(creationsIn: folder)
        try lock.holdShared()
        do {
            file = try OpenFile(name.fileName, in: folder.blobs.file, flags: O_RDWR | O_CREAT | O_EXCL)
        } catch {
            // No deinit follows.
            lock.unlock()
            throw error
        }
    }

    /// Gives a file its name, unless it has one elsewhere, and then its permissions.
    init(of file: OpenFile, as name: BlobName, isNamed: Bool, in folder: StoreFolder) throws {
        (self.file, self.name) = (file, name)
        lock = try StoreLock(creationsIn: folder)
        try lock.holdShared()
        do {
            if !isNamed { try SystemError.check("fchmod", name.fileName) { fchmod(file.descriptor, 0o600) } }
            try file.name(name.fileName, in: folder.blobs)
        } catch {
            // No deinit follows.
            lock.unlock()
            throw error
        }
    }

    deinit { lock.unlock() }
}

/// Files without names, which are gone with whoever has them open.
extension StoreFolder {
    /// Opens an empty one beside the blobs; nil where the system has none, or could not name it later.
    func unnamedBlob() -> OpenFile? {
        guard Self.canNameFiles else { return nil }
        // With the permissions that it has once it is delivered; nobody else can open it before.
        return try? OpenFile(".", in: blobs.file, flags: resume_files_unnamed_flags, mode: FileMode.ordinary)
    }

    private static let canNameFiles = unsafe resume_files_unnamed_flags != 0 && access("/proc/self/fd", X_OK) == 0
}
