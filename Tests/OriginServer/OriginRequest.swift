/// One request as received.
public struct OriginRequest: Sendable {
    /// The number of the request among all of the server, starting at 1.
    public var number: Int

    /// The number of its connection, starting at 1.
    public var connection: Int

    /// The method, such as `GET`.
    public var method: String

    /// The request target, as given in the request line.
    public var target: String

    /// The protocol version of the request line, such as `HTTP/1.1`.
    public var version: String

    /// The field lines in the order of the request, values without the whitespace around them.
    public var fields: [(name: String, value: String)]

    /// Creates a request, for handlers that are tested alone.
    ///
    /// - Parameters:
    ///   - number: The number of the request among all of the server.
    ///   - connection: The number of its connection.
    ///   - method: The method.
    ///   - target: The request target.
    ///   - version: The protocol version.
    ///   - fields: The field lines.
    public init(
        number: Int = 1,
        connection: Int = 1,
        method: String = "GET",
        target: String = "/",
        version: String = "HTTP/1.1",
        fields: [(name: String, value: String)] = []
    ) {
        self.number = number
        self.connection = connection
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
    }

    /// The path of the target, without query, scheme and authority.
    ///
    /// Percent-encoded bytes stay encoded.
    public var path: String {
        var rest = target[...]
        if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...]
            rest = rest.firstIndex(where: { $0 == "/" || $0 == "?" }).map { rest[$0...] } ?? ""
        }
        let path = rest.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }

    /// Finds the first field of a name.
    ///
    /// - Parameter name: The name of the field, in any case.
    /// - Returns: Its value, or `nil` if the request has no such field.
    public func field(_ name: String) -> String? {
        fields(name).first
    }

    /// Finds all fields of a name.
    ///
    /// - Parameter name: The name of the fields, in any case.
    /// - Returns: Their values, in the order of the request.
    public func fields(_ name: String) -> [String] {
        let name = name.lowercased()
        return fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The first and last offset of the one range of `Range: bytes=a-b` or `bytes=a-`, both inclusive.
    ///
    /// It is `nil` without a range, or if it has another form: a suffix range, several ranges, another unit, a last
    /// offset before the first, or a second `Range` field.
    public var byteRange: (first: Int64, last: Int64?)? {
        guard case .from(let first, let last) = RangeRequest(fields: fields("Range")) else { return nil }
        return (first, last)
    }

    /// Whether the client requests that the connection ends after the response.
    var endsConnection: Bool {
        let options = elements("Connection").map { $0.lowercased() }
        if options.contains("close") { return true }
        // A chunked request body is not supported, so the next request could not be found.
        if field("Transfer-Encoding") != nil { return true }
        return version == "HTTP/1.0" && !options.contains("keep-alive")
    }

    /// Splits the fields of a name into the elements of their list.
    ///
    /// - Parameter name: The name of the fields, in any case.
    /// - Returns: The elements without surrounding whitespace, and without empty ones; a comma within quotes is no
    ///   separator.
    func elements(_ name: String) -> [String] {
        fields(name).flatMap { value in
            var isQuoted = false
            let parts = value.split { character in
                if character == "\"" { isQuoted.toggle() }
                return character == "," && !isQuoted
            }
            return parts.map { String($0.trimmingBlanks()) }.filter { !$0.isEmpty }
        }
    }
}

extension Substring {
    /// Trims spaces and tabs from both ends.
    ///
    /// - Returns: The trimmed text.
    func trimmingBlanks() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
