internal import ResumeFiles
internal import ResumeHTTP

/// A file as it was delivered, by which a later run recognizes it.
package struct DeliveredFile: Sendable, Hashable {
    /// The length in bytes.
    package var size: Int64
    /// When its bytes were last modified, in milliseconds since 1970.
    package var modifiedAt: Int64
    /// The bytes of its entity tag, which may be weak; nil if the server sent none.
    package var entityTag: [UInt8]?
    /// The field Last-Modified; nil if the server sent none.
    package var lastModified: String?
    /// The hash of the request that brought it; nil if it is unknown.
    var requester: [UInt8]?
}

extension DeliveredFile {
    /// Whether a file still has the size and time that it was delivered with.
    package func isInPlace(at path: String) -> Bool {
        guard let status = try? Destination(path).status else { return false }
        return status.kind == .regular && status.size == size && status.modifiedAt == modifiedAt
    }
}

/// The file of a job as a text.
extension DeliveredFile {
    /// The words, of which the last one may contain spaces.
    ///
    /// Bytes are hexadecimal digits, and nil is `-`.
    var stored: String {
        let hexadecimal: ([UInt8]?) -> String = { bytes in
            bytes.map { "x" + Hexadecimal.text($0) } ?? "-"
        }
        let words = [
            String(WallClock.milliseconds), String(size), String(modifiedAt), hexadecimal(requester),
            hexadecimal(entityTag), lastModified ?? "-",
        ]
        return words.joined(separator: " ")
    }

    /// Parses a stored text; nil if it was damaged or manipulated.
    init?(stored: String) {
        let words = stored.split(separator: " ", maxSplits: 5)
        guard words.count == 6, let size = Int64(words[1]), let modifiedAt = Int64(words[2]) else { return nil }
        let bytes: (Substring) -> [UInt8]? = { word in
            word.first == "x" ? Hexadecimal.bytes(word.dropFirst()) : nil
        }
        self.init(
            size: size, modifiedAt: modifiedAt, entityTag: bytes(words[4]),
            lastModified: words[5] == "-" ? nil : String(words[5]), requester: bytes(words[3]))
    }
}
