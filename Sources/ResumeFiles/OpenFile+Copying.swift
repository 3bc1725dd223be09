/// Copies the bytes of a file to another one, or compares them.
extension OpenFile {
    /// Copies a file's first bytes to a new file and syncs it.
    ///
    /// The files share blocks if the file system supports it. Otherwise the bytes are copied inside the kernel if
    /// possible, or through memory.
    ///
    /// - Parameters:
    ///   - name: The name of the new file.
    ///   - folder: Its folder.
    ///   - length: The number of bytes.
    ///   - access: Who may use it; nil for the owner.
    /// - Returns: The new file's identity.
    /// - Throws: ``SystemError``
    @discardableResult package func copy(
        to name: String, in folder: Folder, length: Int64, for access: FileAccess? = nil
    ) throws(SystemError) -> FileStatus.Identity {
        let target =
            if let access { try access.create(name, in: folder) } else {
                try OpenFile(name, in: folder.file, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            }
        do {
            try fill(target, length: length)
            try access?.give(to: target)
            try target.synchronize()
            return try target.status().identity
        } catch {
            // The error is reported; the next delivery, collection or rebuild removes a leftover.
            _ = try? folder.remove(name)
            throw error
        }
    }

    /// Copies a range to the same offsets of another file, sharing blocks if the file system supports it.
    package func copy(_ range: Range<Int64>, to target: OpenFile) throws(SystemError) {
        var done = range.lowerBound
        #if os(Linux)
        while done < range.upperBound {
            let count = resume_files_copy_range(
                descriptor, target.descriptor, done, Int(min(range.upperBound - done, 1 << 30)))
            if count <= 0 { break }
            done += Int64(count)
        }
        #endif
        for part in (done..<range.upperBound).parts(of: 1 << 20) {
            let bytes = try bytes(part.count, at: part.lowerBound)
            guard bytes.count == part.count else { throw SystemError(number: EIO, call: "read", path: path) }
            try target.write(unsafe bytes.span.bytes, at: part.lowerBound)
        }
    }

    /// Writes the first bytes of this file over another one, which has only them afterwards, and syncs it.
    ///
    /// It is made longer first: if there is no space for that, it stays as it was.
    package func overwrite(_ target: OpenFile, length: Int64) throws(SystemError) {
        let old = max(try target.status().size, 0)
        #if os(Linux)
        if length > old, posix_fallocate(target.descriptor, off_t(old), off_t(length - old)) == ENOSPC {
            ftruncate(target.descriptor, off_t(old))
            throw SystemError(number: ENOSPC, call: "fallocate", path: target.path)
        }
        #endif
        try copy(0..<length, to: target)
        try SystemError.check("ftruncate", target.path) { ftruncate(target.descriptor, off_t(length)) }
        try target.synchronize()
    }

    private func fill(_ target: OpenFile, length: Int64) throws(SystemError) {
        #if os(Linux)
        if resume_files_clone(descriptor, target.descriptor) == 0 {
            // A clone has the length of the whole file.
            try SystemError.check("ftruncate", target.path) { ftruncate(target.descriptor, off_t(length)) }
            return
        }
        #endif
        try copy(0..<length, to: target)
    }
}

extension Range<Int64> {
    /// Returns its parts of a length, of which the last one may be shorter.
    package func parts(of length: Int64) -> some Sequence<Range<Int64>> {
        stride(from: lowerBound, to: upperBound, by: Int(length)).lazy.map { start in
            start..<start + Swift.min(length, upperBound - start)
        }
    }
}
