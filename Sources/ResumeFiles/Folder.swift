/// Operations on the names in an open folder.
package struct Folder: Sendable {
    package let file: OpenFile

    /// Opens a folder that exists; a symbolic link in its place is refused.
    package init(_ path: String, in parent: Folder? = nil) throws(SystemError) {
        file = try OpenFile(path, in: parent?.file, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Opens a folder of the user's, such as a destination's, which may be a link.
    package init(_ path: String, followsLinks: Bool) throws(SystemError) {
        let name = followsLinks && !path.hasSuffix("/") ? path + "/." : path
        do {
            file = try OpenFile(name, flags: O_RDONLY | O_DIRECTORY)
        } catch {
            throw SystemError(number: error.number, call: error.call, path: path)
        }
    }

    /// Makes a folder that only its owner may use, if it is not there yet.
    ///
    /// - Returns: Whether it was made.
    @discardableResult
    package static func create(_ path: String, in parent: Folder? = nil) throws(SystemError) -> Bool {
        do {
            try SystemError.check("mkdir", path) { unsafe mkdirat(parent?.file.descriptor ?? AT_FDCWD, path, 0o700) }
            // Whatever the user's mask takes away.
            try SystemError.check("chmod", path) {
                unsafe fchmodat(parent?.file.descriptor ?? AT_FDCWD, path, 0o700, 0)
            }
            return true
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// The kind and size of a name, symbolic links not followed; nil where it is not there.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var result = stat()
        do {
            try SystemError.check("stat", name) { unsafe fstatat(file.descriptor, name, &result, AT_SYMLINK_NOFOLLOW) }
            return FileStatus(result)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// Removes a file; no error where it is not there, nor where a folder is, which nobody here makes: it is somebody
    /// else's and stays.
    ///
    /// - Returns: The bytes its blocks took up on disk, 0 where another name of the file is left.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Int64 {
        let status = try status(of: name)
        if status?.kind == .folder { return 0 }
        do {
            try SystemError.check("unlink", name) { unsafe unlinkat(file.descriptor, name, 0) }
        } catch {
            if !error.isMissing { throw error }
        }
        guard let status, status.links == 1 else { return 0 }
        return status.bytesOnDisk
    }

    /// Removes a folder that is empty.
    package func removeFolder(_ name: String) throws(SystemError) {
        try SystemError.check("rmdir", name) { unsafe unlinkat(file.descriptor, name, AT_REMOVEDIR) }
    }

    /// Moves a file to another folder of the same file system, in place of what has its name there.
    package func move(_ name: String, to folder: Folder, as newName: String? = nil) throws(SystemError) {
        try SystemError.check("rename", name) {
            unsafe renameat(file.descriptor, name, folder.file.descriptor, newName ?? name)
        }
    }

    /// Gives a file the same name in another folder as well.
    package func link(_ name: String, to folder: Folder) throws(SystemError) {
        try SystemError.check("link", name) {
            unsafe linkat(file.descriptor, name, folder.file.descriptor, name, 0)
        }
    }

    /// The names in the folder but for `.` and `..`.
    package func names() throws(SystemError) -> [String] {
        // A descriptor of its own, since reading a folder moves its position.
        let copy = try SystemError.check("dup", file.path) { fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0) }
        guard let stream = unsafe fdopendir(copy) else {
            let number = errno
            close(copy)
            throw SystemError(number: number, call: "opendir", path: file.path)
        }
        defer { unsafe closedir(stream) }
        unsafe rewinddir(stream)
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// Bytes that this user may still write to the folder's file system, and its kind.
    package func space() throws(SystemError) -> Int64 {
        var result = statvfs()
        try SystemError.check("statvfs", file.path) { unsafe fstatvfs(file.descriptor, &result) }
        let (bytes, overflow) = UInt64(result.f_bavail).multipliedReportingOverflow(by: UInt64(result.f_frsize))
        return overflow ? Int64.max : Int64(clamping: bytes)
    }

    /// The name of the folder's file system, which is a local one; ``networkFileSystem`` names the others.
    package var fileSystem: String {
        unsafe resume_files_local_file_system(file.descriptor).map { unsafe String(cString: $0) } ?? "local"
    }

    /// The name of the folder's file system where it is one that is reached over a network.
    package var networkFileSystem: String? {
        unsafe resume_files_network_file_system(file.descriptor).map { unsafe String(cString: $0) }
    }
}

/// What tells one file from all others of this machine.
package struct FileIdentity: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
}

/// What the system says about a file.
package struct FileStatus: Sendable {
    /// What kind of file it is.
    package enum Kind: Sendable {
        case regular, folder, link, other
    }

    package let kind: Kind
    /// Its length in bytes.
    package let size: Int64
    /// What its blocks take up.
    package let bytesOnDisk: Int64
    /// Two names with the same one are one file.
    package let identity: FileIdentity
    /// How many names it has.
    package let links: Int
    /// The user it belongs to.
    package let owner: uid_t
    /// When its bytes were last changed, in milliseconds since 1970.
    package let modifiedAt: Int64
    /// Who may do what with it.
    package let permissions: mode_t

    /// Whether it is a regular file of this user's under one name only, so that writing to it changes nothing else.
    package var isOwn: Bool { kind == .regular && links == 1 && owner == geteuid() }

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .other
            }
        size = Int64(status.st_size)
        bytesOnDisk = Int64(status.st_blocks) * 512
        identity = FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
        links = Int(status.st_nlink)
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        modifiedAt = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
