internal import Foundation
package import ResumeStore

/// A folder for one test, removed at its end.
package struct TemporaryFolder: Sendable {
    /// The absolute path.
    package let path: String

    /// Creates a folder, runs the body, and removes the folder in any case.
    ///
    /// - Returns: The result of `body`.
    /// - Throws: Any error from `body`.
    package static func with<Result>(_ body: (TemporaryFolder) async throws -> Result) async throws -> Result {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        return try await body(folder)
    }

    /// Creates a folder that is removed with ``remove()``.
    ///
    /// - Parameter parent: The parent folder; nil for the system's temporary folder.
    /// - Throws: An error if it cannot be created.
    package init(in parent: String? = nil) throws {
        path = (parent ?? FileManager.default.temporaryDirectory.path) + "/resume-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Removes the folder.
    package func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a name in the folder.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    /// Mounts a file system at `disk` in the folder, as root, and unmounts it after the body.
    ///
    /// - Parameters:
    ///   - options: The arguments of `mount` before the place, for a shell.
    ///   - body: The code that uses it.
    /// - Throws: ``Shell/Failure`` if it cannot be mounted; any error from `body`.
    package func withDisk(_ options: String, _ body: () async throws -> Void) async throws {
        try await Shell.run("mkdir", self["disk"])
        try await Shell.run("sh", "-c", "mount \(options) '\(self["disk"])'")
        do {
            try await body()
        } catch {
            // Even if a process still uses it.
            try await Shell.run("umount", "--lazy", self["disk"])
            throw error
        }
        try await Shell.run("umount", self["disk"])
    }

    /// The names of the blobs of the store in it, sorted.
    ///
    /// - Throws: An error if they cannot be read.
    package func blobs() throws -> [String] { try Files.names(in: self["store/blobs"]) }

    /// The path of the first blob of the store in it.
    ///
    /// - Throws: ``Shell/Failure`` if there is none.
    package func blob() throws -> String {
        guard let name = try blobs().first else { throw Shell.Failure(description: "There is no blob.") }
        return self["store/blobs/\(name)"]
    }
}

/// A folder that is removed with the value that holds it, for suites: each test has its own.
@propertyWrapper
package struct Temporary: Sendable {
    private let owner = Owner()

    package var wrappedValue: TemporaryFolder { owner.folder }

    /// Creates a folder; without one, no test can run.
    package init() {}

    private final class Owner: Sendable {
        let folder: TemporaryFolder

        init() {
            do {
                folder = try TemporaryFolder()
            } catch {
                fatalError("The test's folder cannot be created: \(error)")
            }
        }

        deinit { folder.remove() }
    }
}

/// Reading and writing whole files in tests.
package enum Files {
    /// The bytes of a file.
    ///
    /// - Throws: An error if it cannot be read.
    package static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Whether a file has just these bytes; a test that fails prints neither.
    ///
    /// - Throws: An error if it cannot be read.
    package static func matches(_ path: String, _ bytes: [UInt8]) throws -> Bool { try self.bytes(path) == bytes }

    /// Writes a file.
    ///
    /// - Throws: An error if it cannot be written.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// The names in a folder, sorted.
    ///
    /// - Throws: An error if it cannot be read.
    package static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).flatMap { name -> [String] in
            // A folder of blobs: its name is two hexadecimal digits.
            var isFolder: ObjCBool = false
            guard name.count == 2, FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder),
                isFolder.boolValue
            else { return [name] }
            return try names(in: "\(path)/\(name)").map { "\(name)/\($0)" }
        }.sorted()
    }

    /// The permission bits of a file.
    ///
    /// - Throws: An error if it does not exist.
    package static func mode(_ path: String) throws -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw CocoaError(.fileNoSuchFile) }
        return Int(status.st_mode & 0o777)
    }
}

/// Pseudo-random bytes that are the same in each process.
package func sampleBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        withUnsafeBytes(of: state >> 16) { bytes.append(contentsOf: $0.prefix(6)) }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
}

extension DownloadStore {
    /// Opens a store in a new folder, and closes it after the body.
    package static func with<Result>(
        _ configuration: Configuration = Configuration(),
        _ body: (DownloadStore, TemporaryFolder) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFolder.with { folder in
            let store = try await open(at: folder["store"], configuration: configuration)
            let result = try await body(store, folder)
            await store.close()
            return result
        }
    }
}
