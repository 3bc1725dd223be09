internal import HTTPTypes

/// The body of a response with several ranges.
///
/// Source: [RFC 9110, 14.6](https://www.rfc-editor.org/rfc/rfc9110.html#section-14.6).
package enum MultipartRanges {
    /// The maximum number of bytes around a part that are accepted: the boundary and header fields.
    static let longestFrame: Int64 = 1024

    /// Returns the boundary of a multipart response; nil if it is another response.
    static func boundary(in fields: HTTPFields) -> [UInt8]? {
        guard let type = SingletonField(.contentType, in: fields).text else { return nil }
        let pieces = type.split(separator: ";", omittingEmptySubsequences: false)
        let trimmed = { (text: Substring) in text.drop { $0 == " " || $0 == "\t" } }
        guard let media = pieces.first.map(trimmed), media.lowercased().hasPrefix("multipart/byteranges") else {
            return nil
        }
        for piece in pieces.dropFirst().map(trimmed) where piece.lowercased().hasPrefix("boundary=") {
            let text = piece.dropFirst("boundary=".count)
            let value = text.hasPrefix("\"") ? text.dropFirst().prefix { $0 != "\"" } : text.prefix { $0 != " " }
            // At most 70 characters (RFC 2046, 5.1.1).
            return (1...70).contains(value.utf8.count) ? Array(value.utf8) : nil
        }
        return nil
    }

    /// Returns the parts that have a valid `Content-Range` and all of its bytes, up to the first part that does not.
    package static func parts(of body: [UInt8], boundary: [UInt8]) -> [SamplePart] {
        var parts: [SamplePart] = []
        let delimiter = Array("--".utf8) + boundary
        guard var position = end(of: delimiter, in: body[...]) else { return [] }
        while let line = lineEnd(in: body[position...]) {
            // The last boundary ends with "--".
            if body[position...].starts(with: Array("--".utf8)) { return parts }
            position = line
            guard let (range, start) = head(in: body[position...]) else { return parts }
            guard case .bytes(let first, let last, _) = range, last &- first < Int64(body.endIndex - start) else {
                return parts
            }
            let stop = start + Int(last &- first) + 1
            parts.append(SamplePart(offset: first, bytes: body[start..<stop]))
            guard let next = end(of: delimiter, in: body[stop...].prefix(delimiter.count + 4)) else { return parts }
            position = next
        }
        return parts
    }

    /// Reads the header fields of a part.
    ///
    /// - Returns: Its `Content-Range`, and where its bytes start.
    private static func head(in bytes: ArraySlice<UInt8>) -> (ContentRange, Int)? {
        var (position, range) = (bytes.startIndex, ContentRange?.none)
        while let end = lineEnd(in: bytes[position...].prefix(Int(longestFrame))) {
            let line = String(decoding: bytes[position..<end], as: UTF8.self).filter { $0 != "\r\n" && $0 != "\n" }
            position = end
            if line.isEmpty { return range.map { ($0, position) } }
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2, halves[0].lowercased() == "content-range" else { continue }
            range = ContentRange(String(halves[1].drop { $0 == " " || $0 == "\t" }))
        }
        return nil
    }

    /// Returns the index after the next line feed.
    private static func lineEnd(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.firstIndex(of: 0x0A).map { $0 + 1 }
    }

    /// Returns the index after the first occurrence of a delimiter in the first bytes.
    private static func end(of delimiter: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        let bytes = bytes.prefix(Int(longestFrame))
        guard bytes.count >= delimiter.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - delimiter.count)
            .first { bytes[$0...].starts(with: delimiter) }.map { $0 + delimiter.count }
    }
}
