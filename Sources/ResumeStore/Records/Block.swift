/// A part of a blob and its checksum: what one checkpoint recorded, or several one after the other.
package struct Block: Sendable, Hashable {
    /// Where it begins in the file.
    package var offset: Int64
    /// How many bytes it has.
    package var length: Int64
    /// Their CRC-32C.
    package var checksum: UInt32
}
