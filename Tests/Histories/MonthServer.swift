package import HTTPTypes
package import ResumeDownload
internal import Synchronization
internal import TestSupport

/// A server of a simulated month: a script answers, and lines are cut.
package final class MonthServer: Transport {
    /// An answer of the script.
    package struct Answer: Sendable {
        var status: Int
        var fields: [(String, String)] = []
        /// The bytes of the whole file; the server sends the requested range of them.
        var content: ArraySlice<UInt8> = []
        var tag: String?
        /// After how many bytes the connection is cut.
        var cut: Int?
        /// Whether there is no connection.
        var isDown = false
    }

    private struct State {
        var sent: Int64 = 0
        var requests = 0
        var times: [Duration] = []
    }

    private let clock: EventClock
    private let state = Mutex(State())
    private let script: @Sendable (HTTPRequest, Duration) -> Answer

    init(_ clock: EventClock, script: @escaping @Sendable (HTTPRequest, Duration) -> Answer) {
        self.clock = clock
        self.script = script
    }

    /// How many bytes of bodies were sent.
    var sent: Int64 { state.withLock { $0.sent } }
    /// When requests came.
    var times: [Duration] { state.withLock { $0.times } }

    package func send(_ request: HTTPRequest) async throws -> TransportResponse {
        try await send(request, timeout: .zero)
    }

    package func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
        try Task.checkCancellation()
        let now = clock.now
        state.withLock { $0.times.append(now) }
        let answer = script(request, now)
        guard !answer.isDown else { throw TransportError(.notConnected, "the network is down") }
        var head = HTTPResponse(status: .init(code: answer.status))
        for (name, value) in answer.fields { head.headerFields[HTTPField.Name(name) ?? .eTag] = value }
        head.headerFields[.eTag] = answer.tag
        var body = answer.content
        if answer.status == 200, let range = request.headerFields[.range],
            request.headerFields[.ifRange].map({ $0 == answer.tag }) ?? true
        {
            let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            let (first, count) = (ends.first ?? 0, answer.content.count)
            let end = min(ends.count > 1 ? ends[1] + 1 : count, count)
            if first < end {
                head.status = .partialContent
                body = answer.content.dropFirst(first).prefix(end - first)
                head.headerFields[.contentRange] = "bytes \(first)-\(end - 1)/\(count)"
            }
        }
        head.headerFields[.contentLength] = "\(body.count)"
        let isCut = answer.cut.map { $0 < body.count } ?? false
        let parts = LyingBody(body, cutAfter: isCut ? answer.cut : nil, pieces: 262_144) {}
        let count = Int64(min(answer.cut ?? body.count, body.count))
        state.withLock { $0.sent += count }
        return TransportResponse(head: head, body: parts)
    }
}
