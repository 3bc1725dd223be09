internal import ResumeFiles
package import ResumeHTTP

/// The file that has the name of a destination.
extension Destination {
    /// What has the name.
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

    /// Computes the digest of the file, in parts, so that the task can be cancelled.
    ///
    /// - Returns: The digest, and the file as it was afterwards; nil if it cannot be read.
    package func digest(_ algorithm: HTTPDigest.Algorithm) async throws -> (digest: HTTPDigest?, stamp: FileStamp)? {
        guard let file = try? await Blocking.run({ try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW) }) else {
            return nil
        }
        var (hash, offset, isAtEnd) = (RunningHash(algorithm), Int64(0), false)
        while !isAtEnd {
            try Task.checkCancellation()
            (hash, offset, isAtEnd) = try await Blocking.run { [hash, offset] in
                var (hash, offset) = (hash, offset)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
                defer { unsafe buffer.deallocate() }
                for _ in 0..<64 {
                    let count = try unsafe file.read(into: buffer, at: offset)
                    unsafe hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    offset += Int64(count)
                    if count < buffer.count { return (hash, offset, true) }
                }
                return (hash, offset, false)
            }
        }
        return (hash.digest, try file.status().stamp)
    }

    /// Returns the bytes of a range of the file; fewer if it is shorter.
    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        let file = try StoreError.wrapping { try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW) }
        var bytes = [UInt8](repeating: 0, count: Int(clamping: range.upperBound - range.lowerBound))
        let count = try unsafe bytes.withUnsafeMutableBytes { try unsafe file.read(into: $0, at: range.lowerBound) }
        return Array(bytes.prefix(count))
    }
}

extension NameDecision.Found {
    /// The stamp of what has the name; nil if nothing does.
    package var stamp: FileStamp? {
        switch self {
        case .nothing: nil
        case .file(let stamp), .other(let stamp): stamp
        }
    }
}
