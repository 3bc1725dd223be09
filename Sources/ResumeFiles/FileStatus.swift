/// The metadata of a file.
package struct FileStatus: Sendable, Equatable {
    /// The type of a file.
    package enum Kind: Sendable {
        case regular, folder, link, other
    }

    package let kind: Kind
    /// The length in bytes.
    package let size: Int64
    /// The size of the allocated blocks in bytes.
    package let bytesOnDisk: Int64
    /// The identity of the file, which is the same for all of its names.
    package let identity: Identity
    /// The number of hard links.
    package let links: Int
    package let owner: uid_t
    package let group: gid_t
    /// When its bytes were last modified, in nanoseconds since 1970.
    package let modified: Int64
    /// When its bytes or its status last changed, in nanoseconds since 1970; programs cannot set it.
    package let changed: Int64
    /// The permission bits.
    package let permissions: mode_t

    /// Whether it is a regular file with one name only, so that writing to it changes nothing else.
    package var isSingle: Bool { kind == .regular && links == 1 }

    package init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .other
            }
        size = Int64(status.st_size)
        bytesOnDisk = Int64(clamping: Int128(status.st_blocks) * 512)
        identity = Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
        links = Int(clamping: status.st_nlink)
        owner = status.st_uid
        group = status.st_gid
        permissions = status.st_mode & 0o7777
        #if canImport(Darwin)
        let time = status.st_mtimespec
        let change = status.st_ctimespec
        #else
        let time = status.st_mtim
        let change = status.st_ctim
        #endif
        // Any owner of a file can set any time.
        modified = Self.nanoseconds(time)
        changed = Self.nanoseconds(change)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(clamping: Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec))
    }

    /// Identifies a file on this machine.
    package struct Identity: Sendable, Hashable {
        package let device: UInt64
        package let inode: UInt64
    }
}
