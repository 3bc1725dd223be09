/// One action on the connection of a request.
///
/// The payload steps (`body`, `chunked`, `trickle` and `limitedRate`) count as body bytes of the server and continue
/// only as fast as the client reads. A range past the end of the content is truncated to it.
public enum Step: Sendable {
    /// Writes the status line of `HTTP/1.1`, the fields and the empty line.
    ///
    /// Nothing is added to the fields: `Content-Length` is sent only if given, and may be wrong.
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

    /// Waits, then continues.
    case pause(milliseconds: Int)

    /// Waits until a test opens the gate.
    case gate(Gate)

    /// Waits until the client has read all earlier bytes, at most half a minute.
    ///
    /// Works only with a client on this machine; elsewhere this has no effect.
    case drain

    /// Waits until a condition holds, then continues.
    ///
    /// The condition is checked on the server's thread every few milliseconds, so it must not block.
    case wait(until: @Sendable () -> Bool)

    /// Writes a range of the content some bytes at a time, with a wait between them.
    case trickle(Content, Range<Int64>, bytesPerStep: Int, milliseconds: Int)

    /// Writes a range of the content no faster than a rate; 0 or less is no limit.
    case limitedRate(Content, Range<Int64>, bytesPerSecond: Int)

    /// Stalls: nothing more happens until the client closes the connection or the server stops.
    case hold

    /// Ends the connection gracefully, with a FIN.
    case close

    /// Breaks the connection with a RST.
    ///
    /// The system immediately drops data that it has accepted but not yet sent, so put a ``drain`` before this for
    /// earlier bytes to arrive.
    case reset
}

/// The answer to a request: a script of what is sent.
///
/// When the steps are done and none of them ended the connection, the connection handles the next request, unless the
/// request asked to end it with `Connection: close` (or uses HTTP/1.0 without `keep-alive`).
public struct Response: Sendable {
    /// The steps, in this order.
    public var steps: [Step]

    /// Creates an answer.
    ///
    /// - Parameter steps: The steps, in this order.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// Returns an answer with a status and a literal body.
    ///
    /// A `Content-Length` is added if the fields have neither one nor a `Transfer-Encoding`, and the status permits it.
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

    /// Returns the same answer with a different field in its first head.
    ///
    /// - Parameters:
    ///   - name: The name of the field, in any case. All fields of that name are replaced.
    ///   - value: The new value, `nil` to omit the field.
    /// - Returns: The changed answer.
    public func settingField(_ name: String, to value: String?) -> Response {
        changingHead { status, fields in
            let kept = fields.filter { $0.0.lowercased() != name.lowercased() }
            return (status, kept + (value.map { [(name, $0)] } ?? []))
        }
    }

    /// Returns the same answer with a different status in its first head.
    ///
    /// - Parameter status: The status code and the reason.
    /// - Returns: The changed answer.
    public func settingStatus(_ status: String) -> Response {
        changingHead { (status, $1) }
    }

    /// Returns the same answer with its first head replaced.
    ///
    /// - Parameter change: Creates the new status and fields from the old ones.
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
