internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// One download under its lease, from the first request to the delivery.
///
/// The hard decisions are made by pure values (`Plan`, `Verdict`, `RequestCourse`); this asks them and does the I/O.
struct DownloadRun {
    /// Its URL and fields may be renewed.
    var request: DownloadRequest
    let transport: any Transport
    let transfer: Transfer
    /// The file as the caller named it.
    let destination: Destination
    private let metrics: DownloadMetrics
    let onEvent: @Sendable (DownloadEvent) -> Void

    var course: RequestCourse
    var reused: Int64 = 0
    var fetched: Int64 = 0
    /// How many connections the server may be asked for by now.
    var connections: Int
    var isLengthVerified = true
    var hasRetriedDigest = false
    /// The digest that what is held has, in place of the one that is expected.
    var wrongDigest: HTTPDigest?
    /// Whether an answer has shown in this run that the server has these bytes.
    var hasAnswer = false
    /// Whether all that is held came with one answer, so that nothing was put together here.
    var isOfOneAnswer = false
    var digest: RunningDigest?
    /// How often the URL was renewed since the last progress.
    var renewals = 0
    /// How often HEAD has failed: then the download does without.
    var headFailures = 0

    init(
        request: DownloadRequest, transport: any Transport, transfer: Transfer, destination: Destination,
        metrics: DownloadMetrics, onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        self.request = request
        self.transport = transport
        self.transfer = transfer
        self.destination = destination
        self.metrics = metrics
        self.onEvent = onEvent
        course = RequestCourse(request.limits)
        connections = request.boundedConnections
        if let rate = request.rateLimit { self.request.rateLimiters.append(RateLimiter(bytesPerSecond: rate)) }
    }

    /// How one request ended, as far as the next step depends on it.
    enum Step {
        /// The body ended, as its framing said or before, and added so many bytes.
        case ended(received: Int64, failure: Reason?)
        /// Ask again, for the whole.
        case askForWhole(Reason)
        /// Ask again later.
        case retry(Reason, afterSeconds: Int64?, status: Int?)
        /// What is held is wrong; begin anew.
        case discard(Reason)
        /// Ask again at once, with the new URL or fields.
        case renewed
    }

    mutating func run() async throws -> DownloadResult {
        reused = await transfer.receivedBytes
        if let damage = await transfer.damage { onEvent(.damaged(reason: damage)) }
        try await requireFreeNameOfHeld()
        while true {
            while await !transfer.isComplete {
                try Task.checkCancellation()
                try await turn()
            }
            guard try await !fetchesRefusedAgain() else { continue }
            guard try await isConfirmed() else { continue }
            guard try await isAsExpected() else { continue }
            let total = await transfer.partial.length
            // Also of what somebody else has fetched.
            if let limit = request.maximumLength, total > limit {
                throw DownloadError(.tooLarge, .tooLarge(total, limit: limit))
            }
            let destination = destination(for: await transfer.partial.representation)
            let digest = await expectedDigest
            let isProved = if digest == nil { await transfer.isProved } else { true }
            onEvent(.progress(receivedBytes: total, totalBytes: total))
            try await transfer.deliver(
                to: destination, fulfilling: request.queuedRow, isProved: isProved, onReceived: request.onReceived)
            return DownloadResult(
                path: destination.path, totalBytes: total, reusedBytes: min(reused, total), fetchedBytes: fetched,
                digest: digest, contentCoding: await transfer.partial.representation?.contentCoding,
                isLengthVerified: isLengthVerified, isProved: isProved)
        }
    }

    /// One request and what follows from it.
    private mutating func turn() async throws {
        let plan = await transfer.plan(avoidsRange: course.avoidsRange)
        switch try await exchange(plan) {
        case .renewed: connections = request.boundedConnections
        case .ended(let received, let failure):
            if received > 0 { renewals = 0 }
            if await transfer.isComplete { return }
            try await follow(.body(received: received, failed: failure != nil), because: failure ?? .endedEarly)
        case .askForWhole(let reason):
            try await follow(.askForWhole(reason), because: reason)
        case .discard(let reason):
            reused = 0
            digest = nil
            wrongDigest = nil
            // First, so that nobody goes on with what was found to be wrong where this was the last try.
            try await transfer.discard(reason: reason)
            try await follow(.discarded, because: reason)
            onEvent(.restarted(reason: reason, totalBytes: nil))
        case .retry(let reason, let seconds, let status):
            let failedRange = if case .range = plan { status == 500 } else { false }
            try await follow(
                .retry(afterSeconds: seconds, failedRange: failedRange), because: reason, status: status)
        }
    }

    /// Sends one request, follows redirects, and does what the verdict says.
    private mutating func exchange(_ plan: Plan) async throws -> Step {
        let response: TransportResponse
        // A HEAD before it asks for no range.
        var hasAskedForRange = false
        do {
            let check = try await check(plan)
            if case .range = plan {
                hasAskedForRange = true
                if let step = try await spotCheck(before: plan) { return step }
            }
            switch check {
            case .unchanged: response = try await send(plan)
            case .unknown(let reason):
                try await transfer.note(reason)
                response = try await send(plan.conditional)
            case .changed(let reason): return .askForWhole(reason)
            case .retry(let reason, let seconds): return .retry(reason, afterSeconds: seconds, status: nil)
            }
        } catch let error as TransportError {
            guard error.isTransient else { throw DownloadError(.refused, .transport(error), cause: error) }
            guard hasAskedForRange, error.code == .invalidResponse else {
                return .ended(received: 0, failure: .transport(error))
            }
            // Some servers break the rules of HTTP only when they answer a range request.
            let reason = Reason.rangeAnswerInvalid(error)
            try await transfer.note(reason)
            return .askForWhole(reason)
        }
        let before = await transfer.partial
        let verdict: Verdict
        do {
            try checkLength(of: response)
            verdict = try await transfer.judge(response.head, to: plan)
            if let begun = verdict.begun { try await requireFreeName(of: begun.representation) }
            try await transfer.follow(verdict, of: response.head)
            try checkLength(of: verdict, total: await transfer.partial.totalLength)
            if let begun = verdict.begun { try await self.begun(begun, after: before) }
        } catch {
            response.body.cancel(with: CancellationError())
            throw error
        }
        if !verdict.usesBody { response.body.cancel(with: CancellationError()) }
        switch verdict {
        case .append(let continuation):
            _ = course.began(anew: false)
            isOfOneAnswer = false
            hasAnswer = true
            let total = await transfer.partial.totalLength ?? continuation.representation.completeLength
            onEvent(.resumed(offset: continuation.offset, totalBytes: total))
            return try await readBody(of: response, from: before.length)
        case .startOver, .startRange:
            return try await readBody(of: response, from: 0)
        case .complete:
            hasAnswer = true
            return .ended(received: 0, failure: nil)
        case .askForWhole(let reason):
            return .askForWhole(reason)
        case .retry(let reason, let seconds):
            return .retry(reason, afterSeconds: seconds, status: response.head.status.code)
        case .refuse(let reason):
            return try await refused(by: response.head, because: reason, isEmpty: before.isEmpty)
        }
    }

    /// Asks the caller for another URL or other fields, or gives up.
    mutating func refused(by response: HTTPResponse, because reason: Reason, isEmpty: Bool) async throws -> Step {
        if try await renew(after: response) { return .renewed }
        let isForbidden = Self.renewable.contains(response.status.code) && !isEmpty
        throw DownloadError(.refused, isForbidden ? .forbidden(reason) : reason, status: response.status.code)
    }

    /// Takes note of a new blob.
    private mutating func begun(
        _ begun: (representation: Representation, reason: Reason), after before: HeldPartial
    ) async throws {
        let reason = begun.reason
        digest = nil
        wrongDigest = nil
        reused = 0
        isOfOneAnswer = true
        hasAnswer = true
        if request.usesServerFilename {
            try await transfer.setDestination(destination(for: begun.representation))
        }
        guard course.began(anew: !before.isEmpty) else { throw DownloadError(.unstable, .unstable(reason)) }
        let total = await transfer.partial.totalLength
        onEvent(before.isEmpty ? .started(totalBytes: total) : .restarted(reason: reason, totalBytes: total))
    }

    /// Counts what came over the network.
    mutating func count(_ bytes: Int64) {
        fetched += bytes
        metrics.fetched(bytes)
    }

    /// Asks again at once or later, or gives up.
    private mutating func follow(
        _ outcome: RequestCourse.Outcome, because reason: Reason, status: Int? = nil
    ) async throws {
        switch course.next(after: outcome, jitter: Double.random(in: 0...1)) {
        case .askAgain: return
        case .wait(let seconds):
            onEvent(.retrying(reason: reason, afterSeconds: seconds))
            try await Task.sleep(for: .seconds(seconds))
        case .giveUp:
            let held = await transfer.receivedBytes
            throw DownloadError(.unreachable, .retriesExhausted(reason, held: held), status: status)
        case .unstable: throw DownloadError(.unstable, .unstable(reason))
        }
    }
}
