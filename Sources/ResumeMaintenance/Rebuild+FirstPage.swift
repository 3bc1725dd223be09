import ResumeFiles
import ResumeSQLite
import ResumeStore

/// Reads a database whose first page is destroyed: the header, and the location of each table.
///
/// All stores have the same tables at the same pages: the migrations create them in the same order, and with
/// `auto_vacuum` their root pages are at the beginning of the file. So the first page of a new database leads to the
/// rows of an old one. If it does not, for example after a `VACUUM` or for a table that an older release did not have,
/// no checksum matches and no queue has a request.
extension Rebuild {
    /// Creates a copy of the database and its log that has the first page of a new database.
    ///
    /// - Parameter body: Called with the name of the copy, which is removed afterwards.
    /// - Returns: The result of `body`; nil if there is nothing after the first page.
    /// - Throws: `StoreError` or ``SystemError``, `noSpace` if there is not enough space for the copy; or the error
    ///   of `body`.
    func withNewFirstPage<Result>(_ body: (String) throws -> Result) throws -> Result? {
        let name = StoreFolder.salvageName
        defer { try? removeDatabase(name) }
        guard let size = try folder.root.status(of: StoreFolder.databaseName)?.size, size > Schema.pageSize else {
            return nil
        }
        guard try folder.root.space() - size > folder.logSize() else {
            throw StoreError(
                .noSpace, "there is not enough space to copy the database at \(folder.path)",
                advice: "Nothing was changed. Free some space and try again.")
        }
        let page = try newFirstPage(in: name)
        for suffix in ["", "-wal"] {
            let file = StoreFolder.databaseName + suffix
            guard let status = try folder.root.status(of: file), status.size > 0 else { continue }
            try OpenFile(file, in: folder.root.file, flags: O_RDONLY)
                .copy(to: name + suffix, in: folder.root, length: status.size, mode: 0o600)
        }
        try OpenFile(name, in: folder.root.file, flags: O_RDWR).write(unsafe page.span.bytes, at: 0)
        return try body(name)
    }

    private func newFirstPage(in name: String) throws -> [UInt8] {
        let file = try OpenFile(name, in: folder.root.file, flags: O_RDWR | O_CREAT | O_EXCL)
        let connection = try Connection.open(path: folder.path(of: name))
        try Schema.create(connection)
        // Tables are read without them, and only the tables fit one page.
        try connection.forgetIndices()
        var page = try file.bytes(Int(Schema.pageSize))
        // A leaf of the schema's tree: it refers to no other page.
        guard page.count == Schema.pageSize, page[100] == 0x0D else {
            throw StoreError(.database, "the tables of the schema do not fit one page")
        }
        // Without a page count, SQLite uses the file's size.
        page.replaceSubrange(28..<32, with: [0, 0, 0, 0])
        try removeDatabase(name)
        return page
    }

    /// Removes a database that has not replaced the old one, such as one from an interrupted rebuild.
    func removeDatabase(_ name: String) throws(SystemError) {
        for suffix in StoreFolder.databaseSuffixes { try folder.root.remove(name + suffix) }
    }
}
