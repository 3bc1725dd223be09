import HTTPTypes

/// The body of a response with several ranges.
///
/// Source: [RFC 9110, 14.6](https://www.rfc-editor.org/rfc/rfc9110.html#section-14.6).
package enum MultipartRanges {
    /// The maximum number of bytes around a part that are accepted: the boundary and header fields.
    static let longestFrame = 1024

    /// Returns the boundary of a multipart response; nil if it is another response.
    static func boundary(in fields: HTTPFields) -> [UInt8]? {
        // At most 70 characters (RFC 2046, 5.1.1).
        guard fields.text(.contentType)?.lowercased().hasPrefix("multipart/byteranges") == true,
            let value = fields.parameters(.contentType).first(where: { $0.name == "boundary" })?.value,
            (1...70).contains(value.utf8.count)
        else { return nil }
        return Array(value.utf8)
    }

    /// Returns the parts that have a valid `Content-Range` and all of its bytes, up to the first part that does not.
    package static func parts(of body: [UInt8], boundary: [UInt8]) -> [SamplePart] {
        var parts: [SamplePart] = []
        let delimiter = Array("--".utf8) + boundary
        var rest = body.prefix(longestFrame)
        // The last boundary ends with "--".
        while let end = rest.firstRange(of: delimiter)?.upperBound, !body[end...].starts(with: "--".utf8),
            let (range, start) = head(in: body[end...].prefix(longestFrame)),
            case .bytes(let first, let last, _) = range,
            last &- first < Int64(body.endIndex - start)
        {
            let stop = start + Int(last &- first) + 1
            parts.append(SamplePart(offset: first, bytes: body[start..<stop]))
            rest = body[stop...].prefix(delimiter.count + 4)
        }
        return parts
    }

    /// Reads the header fields of a part, after the rest of the boundary's line.
    ///
    /// - Returns: Its `Content-Range`, and where its bytes start.
    private static func head(in bytes: ArraySlice<UInt8>) -> (ContentRange, Int)? {
        let lines = bytes.parts(at: 0x0A).dropLast().dropFirst()
        guard let end = lines.firstIndex(where: { $0.allSatisfy { $0 == 0x0D } }) else { return nil }
        let values = lines[..<end].compactMap { line -> String? in
            let halves = String(decoding: line, as: UTF8.self).split(separator: ":", maxSplits: 1)
            guard halves.count == 2, halves[0].lowercased() == "content-range" else { return nil }
            return String(halves[1].filter { $0 != "\r" }.drop { $0 == " " || $0 == "\t" })
        }
        return values.last.flatMap { ContentRange($0) }.map { ($0, lines[end].endIndex + 1) }
    }
}
