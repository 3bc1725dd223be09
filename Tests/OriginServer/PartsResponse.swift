extension Response {
    /// Answers a request for several ranges with all of them (RFC 9110, 14.6), and any other request as
    /// ``file(_:for:cutAfter:reset:stall:bytesPerSecond:pausingAt:for:)`` does.
    ///
    /// - Parameters:
    ///   - resource: The file.
    ///   - request: The request.
    /// - Returns: The answer.
    public static func parts(of resource: Resource, for request: OriginRequest) -> Response {
        let elements = request.elements("Range")
        guard request.method == "GET", elements.count > 1, elements[0].hasPrefix("bytes=") else {
            return .file(resource, for: request)
        }
        let boundary = "THIS_SEPARATES"
        var body: [UInt8] = []
        for element in elements {
            let ends = element.drop { !$0.isNumber }.split(separator: "-").compactMap { Int64($0) }
            guard ends.count == 2, ends[0] <= ends[1], ends[1] < resource.content.length else {
                return .status("416 Range Not Satisfiable", fields: resource.dateField)
            }
            let head =
                "\r\n--\(boundary)\r\nContent-Type: application/octet-stream\r\n"
                + "Content-Range: bytes \(ends[0])-\(ends[1])/\(resource.content.length)\r\n\r\n"
            body += Array(head.utf8) + resource.content.bytes(in: ends[0]..<ends[1] + 1)
        }
        body += Array("\r\n--\(boundary)--\r\n".utf8)
        return .status(
            "206 Partial Content",
            fields: resource.dateField + resource.validators + [
                ("Content-Type", "multipart/byteranges; boundary=\(boundary)")
            ], body: body)
    }
}
