/// What tells whether a file has changed, without reading it.
package struct FileStamp: Sendable, Hashable {
    /// The length in bytes.
    package var size: Int64
    /// When its bytes were last modified, in nanoseconds since 1970; programs can set it.
    package var modified: Int64
    /// When its bytes or its status last changed, in nanoseconds since 1970; nil if unknown.
    package var changed: Int64?
    /// Its inode; nil if unknown.
    package var inode: UInt64?

    package init(size: Int64, modified: Int64, changed: Int64? = nil, inode: UInt64? = nil) {
        self.size = size
        self.modified = modified
        self.changed = changed
        self.inode = inode
    }

    /// Whether the file has the size and time that it had then, and the inode where both are known.
    ///
    /// Milliseconds count: some file systems round times when they write them, and earlier releases recorded no more.
    package func isUnmodified(since recorded: FileStamp) -> Bool {
        size == recorded.size && modified / 1_000_000 == recorded.modified / 1_000_000
            && (inode ?? recorded.inode) == (recorded.inode ?? inode)
    }
}

/// Whether a digest that a caller names is that of the file in place: what was proved counts as long as nothing about
/// the file has changed, otherwise the file is read.
package enum InPlaceDigest: Sendable, Hashable {
    /// It is, as was found at a time in milliseconds since 1970.
    case right(checkedAt: Int64)
    case wrong
    /// Only its bytes can tell.
    case unread

    /// A digest that was proved for a file as it was then, at a time in milliseconds since 1970.
    package typealias Proof = (digest: HTTPDigest, stamp: FileStamp, checkedAt: Int64)

    /// Decides without reading the file.
    ///
    /// - Parameters:
    ///   - named: The digest that the caller names.
    ///   - proof: What was proved before; nil if nothing was.
    ///   - now: The file as it is.
    ///   - keepsChangeTime: Whether the file system is known to keep the time of the last change. One that does not, such
    ///     as FAT, reports the time of modification instead.
    package init(_ named: HTTPDigest, proof: Proof?, now: FileStamp, keepsChangeTime: @autoclosure () -> Bool) {
        guard let proof, proof.digest.algorithm == named.algorithm, proof.stamp == now, now.inode != nil,
            let changed = now.changed, changed != now.modified || keepsChangeTime()
        else {
            self = .unread
            return
        }
        self = proof.digest == named ? .right(checkedAt: proof.checkedAt) : .wrong
    }
}
