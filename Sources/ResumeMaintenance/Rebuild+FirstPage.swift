import ResumeFiles
import ResumeHTTP
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
        let old = StoreFolder.databaseName
        let name = StoreFolder.salvageName
        defer { try? removeDatabase(name) }
        guard let size = try folder.root.status(of: old)?.size, size > Schema.pageSize else { return nil }
        let logSize = try folder.logSize()
        guard try folder.root.file.space() - size > logSize else {
            throw StoreError(.noSpace, Reason("copy-space", with: folder.path))
        }
        // Tables are read without indices, and only the tables fit one page.
        try createDatabase(name) { try $0.forgetIndices() }
        let file = try OpenFile(name, in: folder.root.file, flags: O_RDWR)
        // A leaf of the schema's tree: it refers to no other page.
        guard try file.bytes(1, at: 100) == [0x0D] else {
            throw StoreError(.database, "the tables of the schema do not fit one page")
        }
        // Without a page count, SQLite uses the file's size.
        let noCount = [UInt8](repeating: 0, count: 4)
        try file.write(unsafe noCount.span.bytes, at: 28)
        try OpenFile(old, in: folder.root.file, flags: O_RDONLY).copy(Schema.pageSize..<size, to: file)
        if logSize > 0 {
            try OpenFile("\(old)-wal", in: folder.root.file, flags: O_RDONLY)
                .copy(to: "\(name)-wal", in: folder.root, length: logSize)
        }
        return try body(name)
    }

    /// Removes a database that has not replaced the old one, such as one from an interrupted rebuild.
    func removeDatabase(_ name: String) throws(SystemError) {
        for suffix in StoreFolder.databaseSuffixes { try folder.root.remove(name + suffix) }
    }
}
