import CResumeSQLite

/// The SQLite library that this process is linked with.
package enum SQLiteLibrary {
    /// The version, such as `3.40.1`.
    package static var version: String {
        unsafe String(cString: sqlite3_libversion())
    }

    /// The version as a number, such as 3040001.
    package static var versionNumber: Int {
        Int(sqlite3_libversion_number())
    }

    /// Makes SQLite count no memory, for which it would lock a mutex at each allocation.
    ///
    /// It concerns the whole process, so only a program may call it, and before it opens a connection.
    package static func countNoMemory() { _ = resume_sqlite3_config_memory_statistics(0) }

    /// The name of the file system through which databases are opened, which removes no super-journals.
    package static let fileSystem = unsafe String(cString: resume_sqlite3_file_system())

    /// The oldest version that has all features used here (`STRICT` tables).
    package static let oldestSupported = 3_037_000

    /// Whether the library has the WAL-reset bug: 3.7.0 to 3.51.2, except the fixed versions 3.50.7 and 3.44.6.
    package static var hasWALResetBug: Bool {
        let version = versionNumber
        return version < 3_051_003
            && !(3_050_007..<3_051_000).contains(version) && !(3_044_006..<3_045_000).contains(version)
    }
}
