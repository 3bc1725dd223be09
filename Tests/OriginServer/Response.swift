/// One thing that is done on the connection of a request.
///
/// The payload steps (`body`, `chunked`, `trickle` and `limitedRate`) count as body bytes of the server and go on only
/// as fast as the client reads. A range that reaches beyond the content is cut down to what the content has.
public enum Step: Sendable {
    /// Writes the status line of `HTTP/1.1`, the fields and the empty line.
    ///
    /// Nothing is added to the fields: a `Content-Length` is there only where it is given, and it may lie.
    ///
    /// - Parameters:
    ///   - status: The status code and the reason, such as `206 Partial Content`.
    ///   - fields: The field lines, written as they are.
    case head(status: String, fields: [(String, String)])

    /// Writes any bytes; they do not count as body bytes.
    case raw([UInt8])

    /// Writes a range of the content.
    case body(Content, Range<Int64>)

    /// Writes a range of the content in chunks of a size, the last one shorter; ``lastChunk`` ends the body.
    case chunked(Content, Range<Int64>, chunkSize: Int)

    /// Writes the chunk of size 0 and the empty trailer section.
    case lastChunk

    /// Waits, then goes on.
    case pause(milliseconds: Int)

    /// Waits until a test opens the gate.
    case gate(Gate)

    /// Waits until the client has read all bytes before this, at most half a minute.
    ///
    /// Only the system of a client on this machine tells; elsewhere this does nothing.
    case drain

    /// Waits until a condition holds, then goes on.
    ///
    /// The condition is asked on the event loop every few milliseconds, so it must not block.
    case wait(until: @Sendable () -> Bool)

    /// Writes a range of the content some bytes at a time, with a wait between them.
    case trickle(Content, Range<Int64>, bytesPerStep: Int, milliseconds: Int)

    /// Writes a range of the content no faster than a rate; 0 or less is no limit.
    case limitedRate(Content, Range<Int64>, bytesPerSecond: Int)

    /// Stalls: nothing more happens until the client closes the connection or the server stops.
    case hold

    /// Ends the connection in order, with a FIN.
    case close

    /// Breaks the connection with a RST.
    ///
    /// The system drops at once what it has taken but not yet sent, so put a ``drain`` before this for the bytes before
    /// it to arrive.
    case reset
}

/// The answer to a request: a script of what is put on the wire.
///
/// When the steps are done and none of them ended the connection, the connection takes the next request, unless the
/// request asked to end it with `Connection: close` (or is of HTTP/1.0 without `keep-alive`).
public struct Response: Sendable {
    /// What is done, in this order.
    public var steps: [Step]

    /// Creates an answer.
    ///
    /// - Parameter steps: What is done, in this order.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// Makes an answer with a status and a literal body.
    ///
    /// A `Content-Length` is added where the fields have none and no `Transfer-Encoding`, and the status may have one.
    ///
    /// - Parameters:
    ///   - status: The status code and the reason, such as `503 Service Unavailable`.
    ///   - fields: The field lines.
    ///   - body: The bytes of the body; they count as body bytes of the server.
    /// - Returns: The answer.
    public static func status(_ status: String, fields: [(String, String)] = [], body: [UInt8] = []) -> Response {
        var fields = fields
        let names = fields.map { $0.0.lowercased() }
        let isBodiless = status.hasPrefix("1") || status.hasPrefix("204") || status.hasPrefix("304")
        if !isBodiless, !names.contains("content-length"), !names.contains("transfer-encoding") {
            fields.append(("Content-Length", String(body.count)))
        }
        let content = Content(body)
        let head = Step.head(status: status, fields: fields)
        return Response(body.isEmpty ? [head] : [head, .body(content, content.all)])
    }

    /// Makes the same answer with another field in its first head.
    ///
    /// - Parameters:
    ///   - name: The name of the field, in any case. All fields of that name are replaced.
    ///   - value: The new value, `nil` to leave the field out.
    /// - Returns: The changed answer.
    public func settingField(_ name: String, to value: String?) -> Response {
        changingHead { status, fields in
            let kept = fields.filter { $0.0.lowercased() != name.lowercased() }
            return (status, kept + (value.map { [(name, $0)] } ?? []))
        }
    }

    /// Makes the same answer with another status in its first head.
    ///
    /// - Parameter status: The status code and the reason.
    /// - Returns: The changed answer.
    public func settingStatus(_ status: String) -> Response {
        changingHead { (status, $1) }
    }

    /// Makes the same answer with its first head replaced.
    ///
    /// - Parameter change: Makes the new status and fields from the old ones.
    /// - Returns: The changed answer.
    private func changingHead(
        _ change: (String, [(String, String)]) -> (String, [(String, String)])
    ) -> Response {
        var copy = self
        for (index, step) in steps.enumerated() {
            guard case .head(let status, let fields) = step else { continue }
            let changed = change(status, fields)
            copy.steps[index] = .head(status: changed.0, fields: changed.1)
            break
        }
        return copy
    }
}
