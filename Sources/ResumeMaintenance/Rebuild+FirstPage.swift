internal import ResumeFiles
internal import ResumeSQLite
internal import ResumeStore

/// A database whose first page is destroyed: the header, and where each table begins.
///
/// All stores have the same tables at the same pages: the migrations make them in one order, and with `auto_vacuum` their
/// roots lie at the beginning of the file. So the first page of a new database leads to the rows of an old one. Where it
/// does not, after a `VACUUM` or to a table that an older release did not have, no checksum is right, and no queue has
/// a request.
extension Rebuild {
    /// Makes a copy of the database, with its log, that begins with the first page of a new one.
    ///
    /// - Parameter body: What is done with it, by its name.
    /// - Returns: What `body` returns; nil where there is nothing behind the first page.
    /// - Throws: ``StoreError`` or ``SystemError``, `noSpace` where there is none for the copy; or what `body` throws.
    func withNewFirstPage<Result>(_ body: (String) throws -> Result) throws -> Result? {
        let name = StoreFolder.salvageName
        defer { try? removeSalvage() }
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
        try Schema.create(try Connection.open(path: folder.path(of: name)))
        var page = [UInt8](repeating: 0, count: Int(Schema.pageSize))
        _ = try unsafe page.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: 0) }
        // No count of pages: then the file's size says it.
        page.replaceSubrange(28..<32, with: [0, 0, 0, 0])
        try removeSalvage()
        return page
    }

    /// Removes the copy, also one that a rebuild left which died.
    func removeSalvage() throws(SystemError) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try folder.root.remove(StoreFolder.salvageName + suffix) }
    }
}
