package import ResumeFiles
import ResumeHTTP
package import ResumeSQLite

/// Checks before SQLite opens a file of the store, or anything is written to one.
extension StoreFolder {
    /// Refuses a folder that another user owns or may write to, since that user could replace its files at any time.
    ///
    /// - Parameters:
    ///   - folder: The store's folder, or the folder of its blobs.
    ///   - path: Its path.
    ///   - store: The path of the store, for the advice.
    /// - Throws: ``StoreError`` with `notAStore`; ``SystemError``.
    static func requirePrivate(_ folder: Folder, at path: String, of store: String) throws {
        if let objection = objection(to: try folder.file.status(), in: folder, at: path, of: store) { throw objection }
    }

    /// Refuses files that other users can access.
    ///
    /// Call it with ``Presence``, so that no rebuild replaces the files, and before any of them is opened.
    package func requireOwnFiles() throws {
        // The reserve is needed only if the disk is full, so an unsuitable one is ignored.
        for name in Self.fileNames where name != Self.reserveName { try requireOwn(name) }
    }

    /// Refuses a file if it is not a regular file that only this user may write to.
    func requireOwn(_ name: String) throws {
        guard let status = try root.status(of: name) else { return }
        if let objection = try Self.objection(toFile: name, status, in: root, of: path) { throw objection }
    }

    /// Fails if there is no database, no blob, and no interrupted rebuild.
    package func requireStore() throws {
        guard try root.status(of: Self.databaseName) == nil, try !isBeingRebuilt(), try !hasBlobs() else { return }
        throw Self.noStore(at: path)
    }

    /// Returns the error if a file of the store is not acceptable.
    ///
    /// - Parameters:
    ///   - name: The file's name.
    ///   - status: Its metadata.
    ///   - root: The folder.
    ///   - store: The path of the store.
    /// - Returns: The error with advice; nil if the file is acceptable.
    /// - Throws: ``SystemError``.
    package static func objection(
        toFile name: String, _ status: FileStatus, in root: Folder, of store: String
    ) throws -> StoreError? {
        let path = "\(store)/\(name)"
        let links = try name == databaseName ? 1 + rebuildLinks(in: root).count : 1
        guard status.kind == .regular else { return StoreError(.notAStore, Reason("not-regular", with: path)) }
        // Writing to a file with another name changes the file under that name as well.
        guard status.links <= links else { return StoreError(.notAStore, Reason("linked", with: path)) }
        return objection(to: status, in: root, at: path, of: store)
    }

    /// Returns the error if the owner or the permissions of a file or folder are not acceptable; nil if they are.
    ///
    /// In a store that the user shares, the system decides who may open it.
    package static func objection(
        to status: FileStatus, in folder: Folder, at path: String, of store: String
    ) -> StoreError? {
        if folder.file.isShared { return nil }
        // This applies to root too, since the owner could replace files between the check and the opening.
        guard status.owner == geteuid() else {
            let reason = Reason("other-owner", with: path, status.owner, geteuid())
            return StoreError(.notAStore, reason, remedy: .shareStore)
        }
        // In a folder that only its owner can enter, the permissions of files do not count.
        let isClosed = (try? folder.file.status().permissions & 0o077) == 0
        guard status.permissions & 0o022 == 0 || isClosed else {
            let mode = String(status.permissions, radix: 8)
            let cause = status.permissions & 0o002 == 0 ? ", as a umask of 002 makes them" : ""
            let reason = Reason("other-writers", with: path, ShellWord.quoted(store), mode, cause)
            return StoreError(.notAStore, reason, remedy: .shareStore)
        }
        return nil
    }

    /// Refuses a database that SQLite opens as read-only because of the format version in its header, although this
    /// user may write to the file.
    package func requireKnownFormat(of connection: borrowing Connection) throws {
        // Makes SQLite read the header.
        _ = try connection.integer("PRAGMA user_version")
        guard connection.isReadOnly,
            unsafe faccessat(root.file.descriptor, Self.databaseName, W_OK, AT_EACCESS) == 0
        else { return }
        throw StoreError(.damaged, Reason("header-damaged", with: path), remedy: .rebuild)
    }
}

/// The state of a rebuild that has not yet replaced the database.
extension StoreFolder {
    /// Whether a rebuild began and did not finish: it was interrupted, or another process is running it.
    func isBeingRebuilt() throws -> Bool {
        try root.status(of: Self.rebuiltName) != nil || !rebuildLinks().isEmpty
    }

    /// The folders in which a rebuild created a second name of the database, which is the first step of replacing it.
    package func rebuildLinks() throws -> [Folder] { try Self.rebuildLinks(in: root) }

    /// The same for a folder that may belong to a store.
    static func rebuildLinks(in root: Folder) throws -> [Folder] {
        guard let database = try root.status(of: databaseName), database.links > 1 else { return [] }
        let names = try root.names().filter { $0.hasPrefix(asidePrefix) }.sorted()
        return try names.compactMap { name -> Folder? in
            // If it is not a folder, or cannot be opened, it does not belong to a rebuild.
            guard let aside = try? Folder(name, in: root) else { return nil }
            return try aside.status(of: databaseName)?.identity == database.identity ? aside : nil
        }
    }
}
