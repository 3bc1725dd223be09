/// A range of a blob and its checksum, recorded by one or more successive checkpoints.
package struct Block: Sendable, Hashable {
    /// The offset of the first byte in the file.
    package var offset: Int64
    package var length: Int64 = 0
    var checksum: UInt32 = 0
}
