extension Response {
    /// Returns the answer of an honest server of static files, with optional faults in the body.
    ///
    /// `GET` gets 200, or 206 with `Content-Range` for one range, or 416 with `bytes */N`; `HEAD` gets the head of the
    /// 200. `If-Match` that fails gets 412, `If-None-Match` that matches gets 304, other methods get 405. `If-Range`
    /// compares tags strongly, and dates by their text. Anything but one valid range of bytes is ignored.
    ///
    /// - Parameters:
    ///   - resource: The server's resource.
    ///   - request: The request.
    ///   - cutAfter: The number of body bytes of this answer after which the connection is cut. If the body has no more
    ///     than that, it is sent completely and the connection stays open; `nil` never cuts.
    ///   - reset: Whether the cut is a RST and not a FIN. Either is sent 200 ms after the client has read the last
    ///     byte.
    ///   - stall: Whether the connection stays open and silent instead of being cut.
    ///   - bytesPerSecond: The rate of the body, `nil` for no limit. Chunked framing has none.
    ///   - place: The number of body bytes of this answer before the pause; 0 is between head and body.
    ///   - pause: The step that waits, `nil` for no pause.
    /// - Returns: The answer.
    public static func file(
        _ resource: Resource,
        for request: OriginRequest,
        cutAfter: Int64? = nil,
        reset: Bool = false,
        stall: Bool = false,
        bytesPerSecond: Int? = nil,
        pausingAt place: Int64 = 0,
        for pause: Step? = nil
    ) -> Response {
        let length = resource.content.length
        let range: Range<Int64>
        let head: Step
        switch resource.outcome(for: request) {
        case .methodNotAllowed:
            return .status("405 Method Not Allowed", fields: resource.dateField + [("Allow", "GET, HEAD")])
        case .preconditionFailed:
            return .status("412 Precondition Failed", fields: resource.dateField)
        case .notModified:
            return .status("304 Not Modified", fields: resource.dateField + resource.validators + resource.extraFields)
        case .unsatisfiable:
            let fields = resource.rangeFields + [("Content-Range", "bytes */\(length)")]
            return .status("416 Range Not Satisfiable", fields: resource.dateField + fields)
        case .whole:
            range = resource.content.all
            head = resource.head(status: "200 OK", bodyLength: length)
        case .part(let part):
            range = part
            let place = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
            head = resource.head(status: "206 Partial Content", bodyLength: part.upperBound - part.lowerBound, place)
        }
        guard request.method != "HEAD" else { return Response([head]) }

        let bodyLength = range.upperBound - range.lowerBound
        let cut = cutAfter.flatMap { $0 < bodyLength ? max(0, $0) : nil }
        let end = range.lowerBound + (cut ?? bodyLength)
        let middle = range.lowerBound + (pause == nil ? 0 : min(max(0, place), end - range.lowerBound))
        var steps = [head]
        steps += resource.body(range.lowerBound..<middle, bytesPerSecond: bytesPerSecond)
        if let pause { steps.append(pause) }
        steps += resource.body(middle..<end, bytesPerSecond: bytesPerSecond)
        switch (cut, stall, reset) {
        case (nil, _, _): steps += resource.endOfBody
        case (_, true, _): steps.append(.hold)
        // A client may lose data in its system's buffers, or read a moment before the connection is cut.
        case (_, _, true): steps += [.drain, .pause(milliseconds: 200), .reset]
        default: steps += [.drain, .pause(milliseconds: 200), .close]
        }
        return Response(steps)
    }
}

extension Resource {
    /// The `Date` field, if there is one.
    var dateField: [(String, String)] { Self.field("Date", date) }

    /// The fields that identify the version of the content.
    var validators: [(String, String)] {
        Self.field("ETag", etag) + Self.field("Last-Modified", lastModified)
    }

    /// The field that states whether ranges are served.
    fileprivate var rangeFields: [(String, String)] { Self.field("Accept-Ranges", acceptRanges) }

    /// The bytes after the last byte of a body that is not cut.
    fileprivate var endOfBody: [Step] {
        switch framing {
        case .contentLength: []
        case .chunked: [.lastChunk]
        case .untilClose: [.close]
        }
    }

    /// Returns the head of an answer that has a body.
    ///
    /// - Parameters:
    ///   - status: The status code and the reason.
    ///   - bodyLength: The number of bytes of the body.
    ///   - place: The value of `Content-Range`.
    /// - Returns: The step.
    fileprivate func head(status: String, bodyLength: Int64, _ place: String? = nil) -> Step {
        let frame =
            switch framing {
            case .contentLength: ("Content-Length", String(bodyLength))
            case .chunked: ("Transfer-Encoding", "chunked")
            case .untilClose: ("Connection", "close")
            }
        let fields = dateField + Self.field("Content-Type", contentType) + validators + rangeFields + [frame]
        return .head(status: status, fields: fields + Self.field("Content-Range", place) + extraFields)
    }

    /// Returns the steps that send a range of the content.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - bytesPerSecond: The rate, `nil` for no limit.
    /// - Returns: The steps, none for an empty range.
    fileprivate func body(_ range: Range<Int64>, bytesPerSecond: Int?) -> [Step] {
        if range.isEmpty { return [] }
        if case .chunked(let size) = framing { return [.chunked(content, range, chunkSize: size)] }
        if let bytesPerSecond { return [.limitedRate(content, range, bytesPerSecond: bytesPerSecond)] }
        return [.body(content, range)]
    }

    /// Returns a field line, or none if there is no value.
    private static func field(_ name: String, _ value: String?) -> [(String, String)] {
        value.map { [(name, $0)] } ?? []
    }
}
