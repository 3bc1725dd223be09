import HTTPTypes
package import ResumeFiles
package import ResumeHTTP

/// The requests of one download, one after another, until its transfer is complete.
///
/// Pure values make the decisions (`Plan`, `SampleCourse`, `Verdict`, `RequestCourse`), and the client does the I/O. The
/// loop decides their order: plan, samples, request, verdict, body, and then the next request, a delay or the end.
package struct RequestLoop<Client: RequestClient> {
    /// Sends a GET request for a plan and follows redirects.
    ///
    /// A request without a usable response throws a ``RequestOutcome``. Any other error ends the download. The client
    /// does not store it, since the closure of a fetch does not escape.
    package typealias Send = (inout Client, Plan) async throws -> FetchResponse<Client.Body>

    package var client: Client
    var course: RequestCourse
    /// The samples that were not compared yet when a request failed for now, and the number of bytes stored then.
    var samples: (course: SampleCourse, held: Int64)?
    /// The number of bytes that were stored when samples of them were compared last.
    var comparedLength: Int64?
    let sampleSeed: UInt64?
    /// The largest number of bytes that the transfer has held.
    private var furthest: Int64 = 0
    let origins: OriginPaces
    let clock: StoreClock
    let longestWait: Duration
    /// The origin that the last response asks to leave alone for some time, with all of its files; nil if it does not.
    var closing: String?
    /// How often a refusal was attributed to the requests of other downloads.
    var timesYielded = 0

    /// Creates a loop that has sent no request yet.
    ///
    /// - Parameters:
    ///   - client: Does the I/O.
    ///   - limits: How often and for how long requests are repeated.
    ///   - sampleSeed: Without a seed, the offsets of samples are random.
    ///   - origins: What other downloads have learned about the origins.
    ///   - clock: Stands still while the machine sleeps.
    package init(
        _ client: Client, _ limits: RetryPolicy, sampleSeed: UInt64? = nil, origins: OriginPaces = OriginPaces(),
        clock: StoreClock = .awake
    ) {
        self.client = client
        self.sampleSeed = sampleSeed
        self.origins = origins
        self.clock = clock
        course = RequestCourse(limits)
        longestWait = limits.time
    }

    /// Receives the bytes.
    var transfer: Transfer { client.transfer }

    /// Sends requests until the transfer is complete.
    package mutating func run(_ send: Send) async throws {
        if let size = await transfer.closedSize { course.ranges = RangeCourse(closed: size) }
        while await !transfer.isComplete {
            if client.answered == nil { try Task.checkCancellation() }
            let avoided = course.avoidsRange ?? (course.ranges.isPlain ? .rangeFailsRepeatedly : nil)
            let length = course.ranges.size == nil ? nil : await transfer.partial.representation?.completeLength
            let plan = await transfer.plan(avoidsRange: avoided).limited(by: &course.ranges, of: length)
            let turn = try await takeTurn()
            let outcome: RequestOutcome
            closing = nil
            do {
                defer { origins.with(turn.origin) { $0.leave(turn.number) } }
                // The next plan depends on what was learned.
                if avoided == nil, try await compareSamples(before: plan, send) { continue }
                outcome = try await exchange(plan, turn, send)
            } catch let early as RequestOutcome {
                outcome = early
            }
            try await follow(outcome, of: plan, in: turn)
        }
    }

    /// Sends one request and carries out the verdict on its response.
    private mutating func exchange(_ plan: Plan, _ turn: Turn, _ send: Send) async throws -> RequestOutcome {
        let response = try await send(&client, plan)
        let head = response.head
        let body = response.body
        let status = head.status.code
        let timing = ResponseTiming(head)
        let sender = response.url?.origin ?? turn.origin
        note(head, from: sender)
        var isUsed = false
        defer { if !isUsed { client.cancel(body) } }
        let isOwnWait = timing.afterSeconds != nil && closing == nil
        if [403, 416, 429, 503].contains(status), !isOwnWait, try await giveWay(to: turn, because: status) {
            origins.close(sender, asAskedBy: head, on: clock)
            return .crowded(Reason.status(of: head))
        }
        if let outcome = try await outcome(of: response, to: plan) { return outcome }
        let held = await transfer.partial
        furthest = max(furthest, held.length)
        let isConditional = plan.fields.contains(.ifRange)
        if try await transfer.goesBack(after: head) { return .wentBack }
        var verdict = try await transfer.judge(
            head, to: plan, in: AnswerContext(sender: response.url, delivered: client.deliveredRepresentation))
        if head.status == .ok, !held.isEmpty, case .append(let use) = verdict, use.bodyStart == 0,
            course.ranges.closeBody(prefix: use.offset, isConditional: isConditional)
        {
            course.closedBody()
            return .askAgain
        }
        // Another file was refused in the same way without a range.
        if case .askForWhole(let reason) = verdict, origins.with(turn.origin, { $0.refusals.contains(reason.code) }) {
            verdict = .refuse(reason)
        }
        let now = clock.now()
        try await client.follow(verdict, of: head)
        // It may have waited for room.
        course.budget.leaveOut(clock.now() - now)
        // Bytes that come again are neither a restart nor progress.
        let isAnew = verdict.replaces && !held.isEmpty && !verdict.sendsAgain
        if let use = verdict.continuation, !course.began(anew: isAnew) { throw DownloadError.unstable(use.reason) }
        await client.judged(verdict, after: held)
        switch verdict {
        case .append, .startOver, .startRange:
            isUsed = true
            origins.with(turn.origin) { $0.serves(turn.number) }
            let start = verdict.replaces ? 0 : held.length
            let outcome = try await client.move(body, of: head, verdict, from: start, budget: &course.budget)
            guard case .body(let received, let failure) = outcome else { return outcome }
            try await learn(from: head, to: plan, received: received, isConditional)
            return verdict.sendsAgain ? .body(received: max(received - furthest, 0), failure: failure) : outcome
        case .complete: return .body(received: 0, failure: nil)
        case .askForWhole(let reason):
            if try await client.renew(after: head) { return .askAgain }
            if reason == .noProgress, case .bytes(let first, let last, _) = ContentRange(in: head.headerFields),
                course.ranges.sentNothingNew(last - first + 1)
            {
                return .askAgain
            }
            return .askForWhole(reason)
        case .retry(let reason, let seconds):
            return .retry(reason, afterSeconds: seconds, status: head.status.code)
        case .refuse(let reason):
            do {
                return try await client.refused(by: head, body, because: reason)
            } catch {
                if course.avoidsRange?.code == reason.code {
                    origins.with(turn.origin) { _ = $0.refusals.insert(reason.code) }
                }
                throw error
            }
        }
    }

    /// Notes whether all files of an origin have to wait.
    mutating func note(_ head: HTTPResponse, from origin: String?) {
        if ResponseTiming(head).holdsForOrigin { closing = origin }
    }

    /// Asks whether the stored bytes may be continued with what a response came from.
    ///
    /// - Returns: What follows if the response is not used; nil if its head decides.
    private mutating func outcome(
        of response: FetchResponse<Client.Body>, to plan: Plan
    ) async throws -> RequestOutcome? {
        let held = await transfer.partial
        let verdict = await transfer.examine(
            response.head, from: response.url, trust: response.trust,
            isConfirmed: comparedLength == held.length)
        switch verdict.step(after: response.head, to: plan) {
        case .judge: return nil
        case .omitCondition: return .askAgain
        case .compareSamples(let reason):
            try await transfer.note(reason)
            return .askAgain
        case .requestWhole(let reason):
            try await transfer.note(reason)
            return .askForWhole(reason)
        }
    }

    /// Learns from a body which ranges the server sends.
    private mutating func learn(
        from head: HTTPResponse, to plan: Plan, received: Int64, _ isConditional: Bool
    ) async throws {
        if case .range = plan, case .bytes(let first, let last, _) = ContentRange(in: head.headerFields) {
            course.ranges.sent(last - first + 1)
            try await transfer.noteClosed(course.ranges.acceptedSize)
        } else if received == 0 {
            course.ranges.endedInPrefix(isConditional: isConditional)
        }
    }

    /// Decides what follows a request.
    mutating func follow(_ outcome: RequestOutcome, of plan: Plan, in turn: Turn? = nil) async throws {
        switch outcome {
        case .body(let received, let failure):
            if await transfer.isComplete {
                let origin = await transfer.origin
                return origins.with(origin) { if received > 0 { $0.works = true } }
            }
            if received == 0, let failure, client.noAnswer(failure) != nil, try await giveWay(to: turn) {
                return try await follow(.crowded(nil), of: plan, in: turn)
            }
            try await follow(
                .body(received: received, failed: failure != nil), because: failure ?? ResponseFailure(.endedEarly))
        case .crowded(let reason):
            let origin = await transfer.origin
            client.retries(after: .zero, because: ResponseFailure(.noFurtherConnection(origin, reason)))
        case .askForWhole(let reason):
            let wasPlain = course.ranges.isPlain
            try await follow(.askForWhole(reason), because: ResponseFailure(reason))
            let held = await transfer.partial.length
            if course.ranges.isPlain, !wasPlain, held > RangeCourse.largestUnsaid {
                client.retries(after: .zero, because: ResponseFailure(.fetchedAgain(held)))
            }
        case .retry(let reason, let seconds, let status):
            let failedRange = if case .range = plan { status == 500 } else { false }
            try await follow(
                .retry(afterSeconds: seconds, failedRange: failedRange),
                because: ResponseFailure(reason, status: status, afterSeconds: seconds))
        case .discard(let reason):
            // First, so that no later transfer uses these bytes if this was the last attempt.
            try await transfer.startBeside(because: reason)
            try await restart(because: reason)
            client.discarded(because: reason)
        case .closed(let origin, let time): try await wait(for: origin, until: time)
        case .wentBack:
            try await restart(because: .olderVersion)
            client.wentBack()
        case .askAgain: try await follow(.unused, because: ResponseFailure(.endedEarly))
        }
    }

    /// Counts a restart after bytes were discarded; throws the client's error after too many.
    mutating func restart(because reason: Reason) async throws {
        try await follow(.discarded, because: ResponseFailure(reason))
    }
}
