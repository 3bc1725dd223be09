/// Operations on the names in an open folder.
package struct Folder: Sendable {
    package let file: OpenFile

    /// Opens an existing folder; a symbolic link is refused.
    ///
    /// The parameters are those of ``OpenFile``.
    ///
    /// - Throws: ``SystemError``
    package init(
        _ path: String, in parent: Folder? = nil, as shown: String? = nil, isShared: Bool = false
    ) throws(SystemError) {
        file = try OpenFile(path, in: parent?.file, as: shown, flags: O_RDONLY | O_DIRECTORY, isShared: isShared)
    }

    /// Opens a folder of the user, for example that of a destination, and optionally follows a symbolic link.
    package init(_ path: String, followsLinks: Bool) throws(SystemError) {
        let name = followsLinks && !path.hasSuffix("/") ? path + "/." : path
        do {
            file = try OpenFile(name, as: path, flags: O_RDONLY | O_DIRECTORY)
        } catch let error where error.number == EACCES && Self.unreadable != 0 {
            // Files can be put into a folder whose names this user may not read.
            file = try OpenFile(name, as: path, flags: Self.unreadable | O_DIRECTORY)
        }
    }

    #if os(Linux)
    /// O_PATH, which is not imported; it has this value on all processors that Swift supports.
    private static let unreadable: Int32 = 0o10000000
    #else
    private static let unreadable: Int32 = 0
    #endif

    /// Makes the names in the folder survive a power failure.
    package func synchronize() throws(SystemError) {
        do {
            try file.synchronize()
        } catch let error where error.number == EBADF && Self.unreadable != 0 {
            sync()
        }
    }

    /// Whether files that are created in it get a group, or an access control list, from it.
    package var givesAccess: Bool {
        get throws(SystemError) {
            try file.status().permissions & 0o2000 != 0 || hasList("default")
        }
    }

    /// Whether it has an access control list: that of "access" to it, or the "default" for what is created in it.
    package func hasList(_ kind: String) -> Bool {
        unsafe resume_files_has_list(file.descriptor, "system.posix_acl_\(kind)") != 0
    }

    /// Whether something is mounted on a name, which can then not be given to another file.
    package func isMounted(on name: String) -> Bool {
        unsafe resume_files_is_mount(file.descriptor, name.systemPath) != 0
    }

    /// The name of the folder.
    package var name: String { file.path.split(separator: "/").last.map { String($0) } ?? "/" }

    /// Returns the path of a name, for messages.
    package func path(of name: String) -> String { file.path(of: name) }

    /// Creates a folder if it does not exist; only its owner may use it, and its group if it is shared.
    ///
    /// - Returns: Whether it was created.
    @discardableResult
    package static func create(
        _ path: String, in parent: Folder? = nil, isShared: Bool = false
    ) throws(SystemError) -> Bool {
        let base = parent?.file.descriptor ?? AT_FDCWD
        // With the set-group-ID bit, everything in it belongs to its group.
        let mode: mode_t = isShared || parent?.file.isShared == true ? 0o2770 : 0o700
        do {
            let shown = parent?.path(of: path) ?? path
            try SystemError.check("mkdir", shown) {
                unsafe mkdirat(base, path.systemPath, mode & 0o770)
            }
            // By descriptor, since others may put something else in its place. With some umasks it cannot be opened.
            let made = try? Folder(path, in: parent)
            guard try made?.file.status().owner ?? geteuid() == geteuid() else { return true }
            // Who may write to the folder above may use a shared one.
            if isShared, let made, let above = try made.status(of: ".."), above.permissions & 0o020 != 0 {
                fchown(made.file.descriptor, .max, above.group)
            }
            // The user's umask may have removed permissions.
            try SystemError.check("chmod", shown) {
                if let made { return fchmod(made.file.descriptor, mode) }
                return unsafe fchmodat(base, path.systemPath, mode, AT_SYMLINK_NOFOLLOW)
            }
            return true
        } catch let error where error.number == EEXIST {
            return false
        }
    }

    /// Returns the kind and size of a file without following symbolic links; nil if it does not exist.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        try Self.status(at: name, in: self)
    }

    /// Returns the same for a path, or for a name in an open folder.
    package static func status(
        at path: String, in folder: Folder? = nil, _ flags: Int32 = AT_SYMLINK_NOFOLLOW
    ) throws(SystemError) -> FileStatus? {
        var result = stat()
        do {
            try SystemError.check("stat", folder?.path(of: path) ?? path) {
                unsafe fstatat(folder?.file.descriptor ?? AT_FDCWD, path.systemPath, &result, flags)
            }
        } catch let error where error.isMissing {
            return nil
        }
        return FileStatus(result)
    }

    /// Removes a file; does nothing if it does not exist, or if it is a folder, since the store never creates folders
    /// there.
    ///
    /// - Returns: The number of bytes freed on disk, 0 if the file has another name.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Int64 {
        let status = try status(of: name)
        if status?.kind == .folder { return 0 }
        do {
            try SystemError.check("unlink", path(of: name)) {
                unsafe unlinkat(file.descriptor, name.systemPath, 0)
            }
        } catch {
            if !error.isMissing { throw error }
        }
        guard let status, status.links == 1 else { return 0 }
        return status.bytesOnDisk
    }

    /// Removes an empty folder.
    package func removeFolder(_ name: String) throws(SystemError) {
        try SystemError.check("rmdir", path(of: name)) {
            unsafe unlinkat(file.descriptor, name.systemPath, AT_REMOVEDIR)
        }
    }

    /// Moves a file to another folder of the same file system and replaces an existing file there.
    package func move(_ name: String, to folder: Folder, as newName: String? = nil) throws(SystemError) {
        try SystemError.check("rename", path(of: name)) {
            unsafe renameat(
                file.descriptor, name.systemPath, folder.file.descriptor, (newName ?? name).systemPath)
        }
    }

    /// Creates a hard link with the same name in another folder.
    package func link(_ name: String, to folder: Folder) throws(SystemError) {
        try SystemError.check("link", path(of: name)) {
            unsafe linkat(
                file.descriptor, name.systemPath, folder.file.descriptor, name.systemPath, 0)
        }
    }

    /// Returns the names in the folder except `.` and `..`.
    package func names() throws(SystemError) -> [String] {
        try Listing(of: self).next(.max)
    }

    /// The name of the folder's local file system; see ``networkFileSystem`` for others.
    package var fileSystem: String {
        unsafe resume_files_file_system(file.descriptor, 0).map { unsafe String(cString: $0) } ?? "local"
    }

    /// The name of the folder's file system if it is a network file system.
    package var networkFileSystem: String? {
        unsafe resume_files_file_system(file.descriptor, 1).map { unsafe String(cString: $0) }
    }

    /// The names in a folder, read in parts: a folder may have a million.
    @safe
    package final class Listing {
        private let stream: OpaquePointer

        /// Begins to read a folder; another listing of the same open folder must not be read at the same time.
        package init(of folder: Folder) throws(SystemError) {
            // Opened again, since `closedir` closes its descriptor, and a duplicate would share its position.
            let copy = try SystemError.check("open", folder.file.path) {
                unsafe openat(folder.file.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
            guard let stream = unsafe fdopendir(copy) else {
                let number = errno
                close(copy)
                throw SystemError(number: number, call: "opendir", path: folder.file.path)
            }
            unsafe self.stream = stream
        }

        deinit { unsafe closedir(stream) }

        /// Returns at most `count` of the next names, without `.` and `..`; none at the end.
        package func next(_ count: Int) -> [String] {
            var names: [String] = []
            while names.count < count, let entry = unsafe readdir(stream) {
                let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(systemPath: $0) }
                }
                if name != "." && name != ".." { names.append(name) }
            }
            return names
        }
    }
}
