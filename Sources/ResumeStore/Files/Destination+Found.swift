import ResumeFiles
package import ResumeHTTP

/// The file that has the name of a destination.
extension Destination {
    package var found: NameDecision.Found {
        guard let status else { return .nothing }
        return status.kind == .regular ? .file(status.stamp) : .other(status.stamp)
    }

    /// Returns what was recorded of a file, without its inode if that has changed and the file system may have done that.
    package func comparable(_ recorded: FileStamp, with now: FileStamp) -> FileStamp {
        var recorded = recorded
        if recorded.inode != now.inode, !keepsChangeTime { recorded.inode = nil }
        return recorded
    }

    /// Whether the file system is known to keep inodes, and the times of the last change, which programs cannot set.
    package var keepsChangeTime: Bool {
        let name = (try? Folder(folder, followsLinks: true))?.fileSystem
        return name != nil && name != "local" && name != "FUSE"
    }

    /// Computes the digest of the file; a cancelled task ends it early.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - onRead: Called with the number of bytes read so far.
    /// - Returns: The digest, and the file as it was afterwards; nil if it cannot be read.
    /// - Throws: `CancellationError`; the error of a read.
    package func digest(
        _ algorithm: HTTPDigest.Algorithm, onRead: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> (digest: HTTPDigest?, stamp: FileStamp)? {
        try await Blocking.run(cancellable: { flag in
            guard let file = try? open() else { return nil }
            var hash = RunningHash(algorithm)
            var offset = Int64(0)
            while !flag.value {
                let part = try file.bytes(1 << 18, at: offset)
                hash.update(part)
                offset += Int64(part.count)
                onRead(offset)
                if part.count < 1 << 18 { return (hash.digest, try file.status().stamp) }
            }
            throw CancellationError()
        })
    }

    func open() throws -> OpenFile { try StoreError.wrapping { try OpenFile(path, flags: O_RDONLY) } }

    /// Returns the bytes of a range of the file; fewer if it is shorter.
    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        try open().bytes(Int(clamping: range.upperBound - range.lowerBound), at: range.lowerBound)
    }
}
