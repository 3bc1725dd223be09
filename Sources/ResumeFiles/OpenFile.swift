/// An open file or folder that is closed when its last reference is released.
///
/// It is a class because a background sync may outlive the owner of the file. Every descriptor is close-on-exec and no
/// symbolic link is followed in the last component of a path.
package final class OpenFile: Sendable {
    package let descriptor: Int32
    /// The path, for messages; that of its folder if the file has no name.
    package let path: String
    /// Whether it is a folder of a store that others share, or a file in one.
    package let isShared: Bool

    /// Opens a file or folder.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - folder: An open folder that the path is relative to; nil for the working directory or an absolute path.
    ///   - shown: The path for messages, if it is another one.
    ///   - flags: `O_RDONLY` etc. `O_CLOEXEC`, `O_NOFOLLOW` and `O_NONBLOCK` are added, the last one so that a FIFO
    ///     cannot block.
    ///   - mode: The permissions of a new file; by default, they are those of its owner, and of the group if the folder
    ///     is shared.
    ///   - isFixed: Whether it has these permissions whatever the umask is; otherwise umask and folder may change them.
    ///   - isShared: Whether others share what is created in this folder; that is also so if they share `folder`.
    /// - Throws: ``SystemError``.
    package init(
        _ path: String, in folder: OpenFile? = nil, as shown: String? = nil,
        flags: Int32, mode: mode_t? = nil, isFixed: Bool = true, isShared: Bool = false
    ) throws(SystemError) {
        let isShared = isShared || folder?.isShared == true
        let mode = mode ?? (isShared ? 0o660 : 0o600)
        let all = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let base = folder?.descriptor ?? AT_FDCWD
        let shown = shown ?? folder.map { path == "." ? $0.path : $0.path(of: path) } ?? path
        descriptor = try SystemError.check("open", shown) {
            unsafe openat(base, path.systemPath, all, mode)
        }
        self.path = shown
        self.isShared = isShared
        guard flags & O_CREAT != 0, isFixed else { return }
        // The user's umask may have removed permissions of the owner from a new file.
        let made = try status()
        guard made.kind == .regular, made.owner == geteuid(), made.size == 0, made.permissions != mode else { return }
        try SystemError.check("fchmod", shown) { fchmod(descriptor, mode) }
    }

    deinit {
        close(descriptor)
    }

    /// Returns the path of a name in this folder.
    func path(of name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    /// Returns the size, kind, identity and other metadata.
    package func status() throws(SystemError) -> FileStatus {
        var result = stat()
        try SystemError.check("fstat", path) { unsafe fstat(descriptor, &result) }
        return FileStatus(result)
    }

    /// Returns the number of bytes that this user can still write to its file system.
    package func space() throws(SystemError) -> Int64 {
        var result = statvfs()
        try SystemError.check("statvfs", path) { unsafe fstatvfs(descriptor, &result) }
        let (bytes, overflow) = UInt64(result.f_bavail).multipliedReportingOverflow(by: UInt64(result.f_frsize))
        return overflow ? Int64.max : Int64(clamping: bytes)
    }

    package func write(_ bytes: RawSpan, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.byteCount {
            let rest = bytes.extracting(droppingFirst: done)
            let written = try SystemError.check("write", path) {
                unsafe rest.withUnsafeBytes {
                    unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
                }
            }
            if written == 0 { throw SystemError(number: ENOSPC, call: "write", path: path) }
            done += written
        }
    }

    /// Reads from an offset until the buffer is full or the file ends; returns the number of bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var count = 0
        while count < buffer.count {
            let read = try SystemError.check("read", path) {
                let target = unsafe buffer.baseAddress?.advanced(by: count)
                return unsafe pread(descriptor, target, buffer.count - count, off_t(offset) + off_t(count))
            }
            if read == 0 { break }
            count += read
        }
        return count
    }

    /// Reads bytes at an offset; fewer if the file ends.
    package func bytes(_ count: Int, at offset: Int64 = 0) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { bytes throws(SystemError) in
            try unsafe bytes.withUnsafeMutableBufferPointer { buffer, done throws(SystemError) in
                done = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        }
    }

    /// Makes the file's data survive a power failure.
    ///
    /// After an error, nothing written since the last successful call may be relied on: Linux marks the pages clean,
    /// and the next call would succeed although they have not been written.
    package func synchronizeData() throws(SystemError) {
        #if canImport(Darwin)
        try synchronize()
        #else
        try SystemError.check("fdatasync", path) { fdatasync(descriptor) }
        #endif
    }

    /// Makes data and metadata, or the names in a folder, survive a power failure.
    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
        try SystemError.check("fcntl(F_FULLFSYNC)", path) { unsafe fcntl(descriptor, F_FULLFSYNC) }
        #else
        try SystemError.check("fsync", path) { fsync(descriptor) }
        #endif
    }

    /// Gives a name to a file that has none; fails if the name exists.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - folder: The folder of the name.
    /// - Throws: ``SystemError``
    package func name(_ name: String, in folder: Folder) throws(SystemError) {
        try SystemError.check("link", folder.path(of: name)) {
            unsafe resume_files_name(descriptor, folder.file.descriptor, name.systemPath)
        }
    }
}
