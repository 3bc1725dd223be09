internal import Foundation
internal import TestSupport

/// What a process that is killed at this moment leaves: a copy of the store's folder and of the delivered files.
///
/// The copy has other inodes, so the locks of the process that goes on are not in its way.
struct StoreImage {
    /// The folder of the copy.
    let path: String
    private let files: [String: [UInt8]]
    private let folder: String

    /// Copies a store and a folder of delivered files, while nothing is written to them.
    init(of store: String, to path: String, deliveredTo folder: String) throws {
        self.path = path
        self.folder = folder
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        chmod(path, 0o700)
        for name in try FileManager.default.subpathsOfDirectory(atPath: store).sorted(by: Self.isFirst) {
            try Self.copy("\(store)/\(name)", to: "\(path)/\(name)")
        }
        files = try Self.files(in: folder)
    }

    /// Gives the delivered files the state of the moment of the copy.
    func restoreFiles() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        for (name, bytes) in files { try Files.write(bytes, to: "\(folder)/\(name)") }
    }

    static func files(in folder: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasPrefix(".") {
            files[name] = try Files.bytes("\(folder)/\(name)")
        }
        return files
    }

    /// The log before the database: what a checkpoint moves in between is then in both.
    private static func isFirst(_ left: String, _ right: String) -> Bool {
        (left.hasSuffix("-wal") ? 0 : 1, left) < (right.hasSuffix("-wal") ? 0 : 1, right)
    }

    private static func copy(_ source: String, to target: String) throws {
        var status = stat()
        // Removed in between, or a part of shared memory, which SQLite makes again.
        guard lstat(source, &status) == 0, !source.hasSuffix("-shm") else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        } else {
            guard let bytes = try? Files.bytes(source) else { return }
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: target).deletingLastPathComponent().path,
                withIntermediateDirectories: true)
            try Files.write(bytes, to: target)
        }
        chmod(target, status.st_mode & 0o7777)
    }
}
