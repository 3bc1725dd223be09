internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP
internal import Synchronization
internal import TestSupport

/// The HTTP client of a history, with the server behind it: answers as ``Lie`` says, and reports each step.
final class LyingServer: Transport {
    private struct State {
        var chance: SplitMix64
        var honesty: Int
        /// The key of the downloads of this step.
        var key = ""
        /// What callers were sent that may be stored, by caller and key.
        var sent: [String: Sent] = [:]
        /// What they were sent before, with another tag.
        var before: [String: Sent] = [:]
        /// The caller who believes whatever is sent.
        var restarting: Int?
        /// Whether both callers download at once, with requests that look alike.
        var isBoth = false
        /// The entity tags of the bytes that are stored for this step's key, by caller.
        var holders: @Sendable () async throws -> [Int: Set<String?>] = { [:] }
        var requests = 0
        var log: [String] = []

        /// What a caller knows of the stored file of this step; nil if nothing of it is stored.
        ///
        /// Of two callers whose requests look alike, one does not know what only the other one has been sent at the same
        /// time; the tag in its request shows what it does.
        func known(to caller: Int, who sends: HTTPRequest) -> Sent? {
            guard restarting != caller, let known = sent["\(caller) \(key)"] else { return nil }
            let named = sends.headerFields[.ifRange] ?? sends.headerFields[.ifMatch]
            return isBoth && (named == nil || named != known.tag) ? nil : known
        }

        /// Records that a caller received the body of a response.
        mutating func learn(_ head: HTTPResponse, _ request: HTTPRequest, _ caller: Int) {
            let isPart = head.headerFields[.contentRange] != nil
            // Samples, which are closed ranges, are compared and not stored.
            if request.authority == "login.test" || isPart && request.headerFields[.range]?.last != "-" { return }
            let (new, name) = (Sent(head), "\(caller) \(key)")
            if let old = sent[name], old.tag != new.tag { before[name] = old }
            if isPart { sent[name, default: new].length = new.length } else { sent[name] = new }
        }

        /// Forgets what a caller was sent and the store no longer has, or does not have after the process was killed.
        mutating func forget(allBut holders: [Int: Set<String?>]) {
            for caller in 0...1 {
                let name = "\(caller) \(key)"
                guard let sent = sent[name], let tags = holders[caller] else {
                    self.sent[name] = nil
                    continue
                }
                // During a run, the program also knows what it has not stored yet.
                guard requests == 0, !tags.contains(sent.tag) else { continue }
                self.sent[name] = before[name].flatMap { tags.contains($0.tag) ? $0 : nil }
            }
        }
    }

    /// What is known of a file that a caller was sent.
    private struct Sent {
        /// The strong entity tag.
        var tag: String?
        var hasValidator: Bool
        var length: Int?

        init(_ head: HTTPResponse) {
            let fields = head.headerFields
            tag = LyingServer.strongTag(fields[.eTag])
            hasValidator = fields[.eTag] == nil ? fields[.lastModified] != nil : tag != nil
            length = fields[.contentLength].flatMap { Int($0) }
            if let total = fields[.contentRange]?.split(separator: "/").last { length = Int(total) }
        }
    }

    /// Returns a tag unless it is weak.
    static func strongTag(_ tag: String?) -> String? { tag.flatMap { $0.hasPrefix("\"") ? $0 : nil } }

    private let world: World
    private let state: Mutex<State>
    /// Called before each answer and each part of a body; what it throws ends the request.
    private let onStep: @Sendable () throws -> Void

    init(_ world: World, seed: UInt64, honesty: Int, onStep: @escaping @Sendable () throws -> Void) {
        (self.world, self.onStep) = (world, onStep)
        state = Mutex(State(chance: SplitMix64(seed: seed), honesty: honesty))
    }

    /// What was asked and answered, for the report of a violation.
    var log: [String] { state.withLock { $0.log } }

    /// Begins a step of the history.
    ///
    /// - Parameters:
    ///   - key: The key of its downloads.
    ///   - restarting: The caller who believes whatever is sent.
    ///   - isBoth: Whether both callers download at once, with requests that look alike.
    ///   - holders: The entity tags of the bytes that are stored for the key, by caller.
    func begin(
        _ key: String, restarting: Int?, isBoth: Bool,
        holders: @escaping @Sendable () async throws -> [Int: Set<String?>]
    ) {
        state.withLock { state in
            (state.key, state.restarting, state.holders, state.requests) = (key, restarting, holders, 0)
            state.isBoth = isBoth
        }
    }

    /// Ends what a caller knows, since the file of this step was delivered.
    func forget(_ caller: Int) { state.withLock { state in state.sent["\(caller) \(state.key)"] = nil } }

    /// Records something for the report of a violation.
    func note(_ line: String) { state.withLock { $0.log.append(line) } }

    func send(_ request: HTTPRequest) async throws -> TransportResponse { try await send(request, timeout: .zero) }

    func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
        try onStep()
        try Task.checkCancellation()
        // What a caller was sent, and the store no longer has, contradicts nothing.
        let holders = try await state.withLock { $0.holders }()
        let answer = state.withLock { state in
            state.forget(allBut: holders)
            state.requests += 1
            // A server that never does what it should ends no history.
            let lie = state.requests > 40 ? Lie.none : Lie.pick(&state.chance, honesty: state.honesty)
            let answer = self.answer(request, lie, &state)
            state.log.append("\(Self.text(request)) -> \(lie): \(answer.map { Self.text($0) } ?? "no connection")")
            return answer
        }
        guard let answer else { throw TransportError(.notConnected, "refused by the test") }
        let pieces = state.withLock { $0.chance.pick([16_384, 16_384, 4096, 1000, 262_144]) }
        let body = LyingBody(answer.body, cutAfter: answer.cut, pieces: pieces) { [self] in
            state.withLock { $0.learn(answer.head, request, caller(request)) }
            try onStep()
        }
        return TransportResponse(head: answer.head, body: body)
    }

    private static func text(_ request: HTTPRequest) -> String {
        let names: [HTTPField.Name] = [.range, .ifRange, .ifMatch, .ifNoneMatch, .authorization]
        let fields = names.compactMap { name in request.headerFields[name].map { "\(name): \($0)" } }
        return (["\(request.method) \(request.authority ?? "")\(request.path ?? "")"] + fields).joined(separator: ", ")
    }

    private static func text(_ answer: Answer) -> String {
        let fields = answer.head.headerFields.map { "\($0.name): \($0.value)" }
        let cut = answer.cut.map { ", cut after \($0)" } ?? ""
        return (["\(answer.head.status.code)"] + fields + ["\(answer.body.count) bytes\(cut)"]).joined(separator: ", ")
    }

    private struct Answer {
        var head: HTTPResponse
        var body: ArraySlice<UInt8> = []
        var cut: Int?

        init(_ status: HTTPResponse.Status) { head = HTTPResponse(status: status) }
    }

    /// The caller that a request shows; 0 if both send the same.
    private func caller(_ request: HTTPRequest) -> Int {
        (request.path ?? "").contains("token=1") || request.headerFields[.authorization] == "Bearer 1" ? 1 : 0
    }

    private func answer(_ request: HTTPRequest, _ lie: Lie, _ state: inout State) -> Answer? {
        let path = String((request.path ?? "/").prefix { $0 != "?" })
        if request.authority == "login.test" { return page("text/html", "<html>Please log in</html>", state, request) }
        if path == "/latest.zip", lie != .portal {
            // Tokens stay in the URL, credentials do not cross the origin: the target knows the caller only by the URL.
            let query = (request.path ?? "").drop { $0 != "?" }
            var answer = Answer(.found)
            answer.head.headerFields[.location] = "\(World.origin)\(world.latest)\(query)"
            return answer
        }
        guard let version = world.current(path, for: caller(request)) else { return Answer(.notFound) }
        return answer(request, lie, version, &state)
    }

    private func answer(_ request: HTTPRequest, _ lie: Lie, _ version: Version, _ state: inout State) -> Answer? {
        switch lie {
        case .refused: return nil
        case .page: return page("text/html", "<html>\(state.requests)</html>", state, request)
        case .json: return page("application/json", #"{"error":"quota"}"#, state, request)
        case .portal:
            var answer = Answer(.found)
            answer.head.headerFields[.location] = "\(World.login)/login"
            return answer
        case .forbidden: return Answer(.forbidden)
        case .notFound: return Answer(.notFound)
        case .unavailable: return Answer(.serviceUnavailable)
        case .serverError: return Answer(.internalServerError)
        case .preconditionFailed: return Answer(.preconditionFailed)
        case .noContent: return Answer(.noContent)
        case .notModified: return Answer(.notModified)
        case .notSatisfiable:
            var answer = Answer(.rangeNotSatisfiable)
            answer.head.headerFields[.contentRange] = "bytes */\(version.bytes.count)"
            return request.headerFields[.range] == nil ? honest(request, version) : answer
        case .empty, .emptyWithoutTag, .shortWithTag, .shortWithoutTag:
            return part(request, lie, version, state)
        default:
            return bent(request, lie, version, &state)
        }
    }

    /// Returns a page, and grants it to a caller who has reason to believe it.
    private func page(_ type: String, _ text: String, _ state: State, _ request: HTTPRequest) -> Answer {
        var answer = Answer(.ok)
        answer.head.headerFields[.contentType] = type
        answer.head.headerFields[.contentLength] = "\(text.utf8.count)"
        answer.body = Array(text.utf8)[...]
        // Another origin does not see who asks.
        let isElsewhere = request.authority == "login.test"
        let caller = isElsewhere ? state.restarting : caller(request)
        if let caller, state.known(to: caller, who: request).map({ !Self.isShort(text.utf8.count, $0) }) ?? true {
            world.grant(Version(bytes: Array(text.utf8)), to: caller)
        }
        return answer
    }

    /// Returns the first part of a version, or nothing, as if it were the whole.
    private func part(_ request: HTTPRequest, _ lie: Lie, _ version: Version, _ state: State) -> Answer {
        let count = [.empty, .emptyWithoutTag].contains(lie) ? 0 : version.bytes.count / 3
        var version = Version(
            bytes: Array(version.bytes.prefix(count)), tag: version.tag, lastModified: version.lastModified)
        if [.emptyWithoutTag, .shortWithoutTag].contains(lie) { (version.tag, version.lastModified) = (nil, nil) }
        let isBelieved =
            switch (lie, state.known(to: caller(request), who: request)) {
            case (_, nil): true
            case (.empty, let known?), (.emptyWithoutTag, let known?): known.length == 0
            case (.shortWithTag, let known?): known.tag == nil || known.tag != version.tag || known.length == nil
            case (_, let known?): !known.hasValidator || !Self.isShort(count, known)
            }
        if isBelieved { world.grant(version, to: caller(request)) }
        var plain = request
        for name in [HTTPField.Name.range, .ifRange, .ifMatch] { plain.headerFields[name] = nil }
        return honest(plain, version)
    }

    /// Whether a length is less than half of what is known.
    private static func isShort(_ count: Int, _ known: Sent) -> Bool { known.length.map { count < $0 / 2 } ?? false }

    /// Returns the answer of a server that follows RFC 9110.
    private func honest(_ request: HTTPRequest, _ version: Version, ignoringIfRange: Bool = false) -> Answer {
        let (fields, count) = (request.headerFields, version.bytes.count)
        if let condition = fields[.ifMatch], condition != version.tag { return Answer(.preconditionFailed) }
        var answer = Answer(.ok)
        answer.head.headerFields[.acceptRanges] = "bytes"
        answer.head.headerFields[.eTag] = version.tag
        answer.head.headerFields[.lastModified] = version.lastModified
        answer.head.headerFields[.date] = "Thu, 26 Nov 2026 10:00:00 GMT"
        answer.body = version.bytes[...]
        let condition = fields[.ifRange]
        let isCurrent = condition == nil || condition == version.tag || condition == version.lastModified
        if isCurrent || ignoringIfRange, let range = Self.range(fields[.range], in: count) {
            guard !range.isEmpty else {
                answer.head.status = .rangeNotSatisfiable
                answer.head.headerFields[.contentRange] = "bytes */\(count)"
                answer.body = []
                return answer
            }
            answer.head.status = .partialContent
            answer.head.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
            answer.body = version.bytes[range]
        }
        answer.head.headerFields[.contentType] = version.type
        answer.head.headerFields[.contentLength] = "\(answer.body.count)"
        if request.method == .head { answer.body = [] }
        return answer
    }

    /// Returns the bytes of a range; empty if it lies beyond the end, nil if there is none that is known.
    private static func range(_ text: String?, in count: Int) -> Range<Int>? {
        guard let text, text.hasPrefix("bytes="), !text.contains(",") else { return nil }
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]) else { return nil }
        guard first < count else { return 0..<0 }
        return first..<min(Int(ends[1]).map { $0 + 1 } ?? count, count)
    }

    /// Returns the honest answer with one fault.
    private func bent(_ request: HTTPRequest, _ lie: Lie, _ version: Version, _ state: inout State) -> Answer {
        var answer = honest(request, version, ignoringIfRange: [.ignoresIfRange, .echoesTag].contains(lie))
        let isRange = answer.head.status == .partialContent
        switch lie {
        case .cut, .closedEarly:
            let count = Int.random(in: 0...max(answer.body.count - 1, 0), using: &state.chance)
            if lie == .cut { answer.cut = count }
            if lie == .closedEarly, !isRange { answer.body = answer.body.prefix(count) }
            // What ends with the connection may be a part, and a client that knows no length cannot know.
            if lie == .closedEarly {
                let known = state.known(to: caller(request), who: request)
                answer.head.headerFields[.contentLength] = nil
                if !isRange, known?.length == nil || known?.tag == nil || known?.tag != version.tag {
                    world.grant(Version(bytes: Array(answer.body)), to: caller(request))
                }
            }
        case .shortRange where isRange && answer.body.count > 1:
            let range = answer.body.prefix(Int.random(in: 1..<answer.body.count, using: &state.chance))
            answer.head.headerFields[.contentRange] =
                "bytes \(range.startIndex)-\(range.endIndex - 1)/\(version.bytes.count)"
            answer.head.headerFields[.contentLength] = "\(range.count)"
            answer.body = range
        case .ignoresRange:
            var plain = request
            plain.headerFields[.range] = nil
            answer = honest(plain, version)
        case .echoesTag
        where isRange && answer.body.startIndex == Self.range(request.headerFields[.range], in: .max)?.lowerBound:
            if let tag = request.headerFields[.ifRange], tag.hasPrefix("\"") { answer.head.headerFields[.eTag] = tag }
        case .sliceAsWhole where isRange: answer.head.status = .ok
        case .withoutTag: (answer.head.headerFields[.eTag], answer.head.headerFields[.lastModified]) = (nil, nil)
        case .weakTag: answer.head.headerFields[.eTag] = version.tag.map { $0.hasPrefix("W/") ? $0 : "W/\($0)" }
        case .chunked:
            answer.head.headerFields[.contentLength] = nil
            answer.head.headerFields[.transferEncoding] = "chunked"
        case .earlier where isRange && answer.body.startIndex > 0:
            let range = Int.random(in: 0..<answer.body.startIndex, using: &state.chance)..<version.bytes.count
            answer.head.headerFields[.contentRange] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(version.bytes.count)"
            answer.head.headerFields[.contentLength] = "\(range.count)"
            answer.body = version.bytes[range]
        case .otherTotal where isRange:
            let range = answer.body.indices
            answer.head.headerFields[.contentRange] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(version.bytes.count + 7)"
        case .withoutContentRange where isRange: answer.head.headerFields[.contentRange] = nil
        case .wrongDigest:
            answer.head.headerFields[.reprDigest] = "sha-256=:\(String(repeating: "A", count: 43))=:"
        default: break
        }
        return answer
    }
}

extension HTTPField.Name {
    static let reprDigest = HTTPField.Name("Repr-Digest") ?? .eTag
}

/// A body whose parts are passed on at once.
final class LyingBody: ResponseBody {
    private struct State {
        var rest: ArraySlice<UInt8>
        var failure: (any Error)?
    }

    private let state: Mutex<State>
    private let isCut: Bool
    private let pieces: Int
    private let onPart: @Sendable () throws -> Void

    init(_ body: ArraySlice<UInt8>, cutAfter cut: Int?, pieces: Int, onPart: @escaping @Sendable () throws -> Void) {
        state = Mutex(State(rest: body.prefix(cut ?? body.count)))
        isCut = cut != nil
        (self.pieces, self.onPart) = (pieces, onPart)
    }

    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
        while true {
            let part = try state.withLock { state -> ArraySlice<UInt8> in
                if let failure = state.failure { throw failure }
                let part = state.rest.prefix(pieces)
                state.rest = state.rest.dropFirst(part.count)
                return part
            }
            guard !part.isEmpty else { break }
            try onPart()
            if try !reader(Array(part).span.bytes) { return true }
        }
        if isCut { throw TransportError(.connectionClosed, "cut by the test") }
        return false
    }

    func pause() {}

    func cancel(with error: any Error) { state.withLock { $0.failure = error } }
}
