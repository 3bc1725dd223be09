import HTTPTypes
package import ResumeFiles
package import ResumeHTTP

/// Carries out the actions of a ``DownloadMachine``: the requests of one download, one after another, until its transfer
/// is complete.
package struct RequestLoop<Client: RequestClient> {
    /// Sends a GET request for a plan and follows redirects.
    ///
    /// A request without a usable response throws a ``RequestOutcome``. Any other error ends the download. The client
    /// does not store it, since the closure of a fetch does not escape.
    package typealias Send = (inout Client, Plan) async throws -> FetchResponse<Client.Body>

    package var client: Client
    var machine: DownloadMachine
    /// The comparison of samples that a failed request has interrupted, and the number of bytes stored then.
    var samples: (course: SampleCourse, held: Int64)?
    let sampleSeed: UInt64?
    let origins: OriginPaces
    let clock: StoreClock
    let longestWait: Duration
    /// That of the last request; nil before the first one.
    var turn: Turn?
    /// The response whose body is not used yet.
    private var response: FetchResponse<Client.Body>?
    /// The origin that wants no request for any of its files for some time, according to the last response; nil if there
    /// is none.
    var pausedOrigin: String?
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
        machine = DownloadMachine(limits)
        longestWait = limits.time
    }

    var transfer: Transfer { client.transfer }

    /// Sends requests until the transfer is complete.
    package mutating func run(_ send: Send) async throws {
        if let size = await transfer.boundedRange { machine.ranges = RangeCourse(closed: size) }
        defer { endRequest() }
        var action = machine.handle(.goOn)
        while true {
            if case .finish = action { return }
            do {
                action = machine.handle(try await perform(action, send))
            } catch let outcome as RequestOutcome {
                action = machine.handle(.failed(outcome))
            }
        }
    }

    /// Carries out an action.
    ///
    /// - Returns: What came of it.
    /// - Throws: A ``RequestOutcome`` if the request has failed; errors that end the download.
    private mutating func perform(
        _ action: DownloadMachine.Action, _ send: Send
    ) async throws -> DownloadMachine.Input {
        switch action {
        case .plan(let avoided): return try await plan(avoiding: avoided)
        case .compare(let ranges, let stored, let isProved, let shift):
            let course = await samples(of: ranges, in: stored, isProved: isProved, shift: shift)
            return .compared(try await compare(course, of: transfer.partial.length, send))
        case .dropMarked(let reason):
            try await transfer.dropMarked(because: reason)
            client.gaveUp(because: reason)
            endRequest()
        case .request(let plan): return try await evaluate(try await send(&client, plan), to: plan)
        case .prepare(let verdict):
            guard let head = response?.head else { break }
            let now = clock.now()
            try await client.prepare(for: verdict, of: head)
            // It may have waited for room.
            return .prepared(after: clock.now() - now)
        case .receive(let verdict, let held):
            await client.willReceive(verdict, after: held)
            guard verdict.usesBody, let response = response.take() else {
                return .received(.body(received: 0, failure: nil))
            }
            if let turn { origins.with(turn.origin) { $0.serves(turn.number) } }
            let start = verdict.replaces ? 0 : held.length
            return .received(
                try await client.move(response.body, of: response.head, verdict, from: start, budget: &machine.budget))
        case .renew:
            guard let head = response?.head else { break }
            return .renewed(try await client.renew(after: head))
        case .refuse(let reason, let isRepeated):
            guard let response else { break }
            do {
                throw try await client.refused(by: response.head, response.body, because: reason)
            } catch let error where !(error is RequestOutcome) && isRepeated {
                if let turn { origins.with(turn.origin) { _ = $0.refusals.insert(reason.code) } }
                throw error
            }
        case .end(let outcome, let reason, let size):
            if let reason { try await transfer.note(reason) }
            try await transfer.noteBoundedRange(size)
            try await follow(outcome)
        case .fail(let reason): throw DownloadError.unstable(reason)
        case .finish: return .isComplete
        }
        return .goOn
    }

    /// Plans a request, and waits until it may be sent.
    private mutating func plan(avoiding reason: Reason?) async throws -> DownloadMachine.Input {
        endRequest()
        if await transfer.isComplete { return .isComplete }
        if client.firstTurn == nil { try Task.checkCancellation() }
        let plan = await transfer.plan(avoidsRange: reason)
        turn = try await takeTurn()
        pausedOrigin = nil
        return .planned(plan, await transfer.stored)
    }

    /// Evaluates a response, unless it is attributed to the requests of other downloads.
    private mutating func evaluate(
        _ received: FetchResponse<Client.Body>, to plan: Plan
    ) async throws -> DownloadMachine.Input {
        response = received
        let head = received.head
        guard let turn else { return .goOn }
        let sender = received.url?.origin ?? turn.origin
        note(head, from: sender)
        let isOwnWait = ResponseTiming(head).afterSeconds != nil && pausedOrigin == nil
        if [403, 416, 429, 503].contains(head.status.code), !isOwnWait,
            try await giveWay(to: turn, because: head.status.code)
        {
            origins.close(sender, asAskedBy: head, on: clock)
            throw RequestOutcome.crowded(Reason.status(of: head))
        }
        let held = await transfer.partial
        let evaluation = try await transfer.evaluate(
            head, to: plan, from: received.url, trust: received.trust, isConfirmed: machine.hasCompared(held.length),
            delivered: client.deliveredRepresentation)
        var refusals: Set<Reason.Code> = []
        if case .judged(.askForWhole) = evaluation { refusals = origins.with(turn.origin) { $0.refusals } }
        return .evaluated(evaluation, DownloadMachine.Response(to: plan, head, after: held, refusals: refusals))
    }

    /// Ends the request that has the turn, and the body of a response that is not used.
    private mutating func endRequest() {
        if let response = response.take() { client.cancel(response.body) }
        guard let turn, !turn.isOver else { return }
        origins.with(turn.origin) { $0.leave(turn.number) }
        self.turn?.isOver = true
    }

    /// Notes whether all files of an origin have to wait.
    mutating func note(_ head: HTTPResponse, from origin: String?) {
        if ResponseTiming(head).holdsForOrigin { pausedOrigin = origin }
    }

    /// Follows what a request has ended with: reports it, and waits if necessary.
    mutating func follow(_ outcome: RequestOutcome) async throws {
        endRequest()
        switch outcome {
        case .body(let received, let failure):
            if await transfer.isComplete {
                let origin = await transfer.origin
                return origins.with(origin) { if received > 0 { $0.works = true } }
            }
            if received == 0, let failure, client.noResponse(failure) != nil, try await giveWay(to: turn) {
                return try await follow(.crowded(nil))
            }
            try await decide(after: outcome, because: failure ?? ResponseFailure(.endedEarly))
        case .crowded(let reason):
            // The next request waits for its turn.
            let origin = await transfer.origin
            client.retries(after: .zero, because: ResponseFailure(.noFurtherConnection(origin, reason)))
        case .askForWhole(let reason):
            let wasPlain = machine.ranges.isPlain
            try await decide(after: outcome, because: ResponseFailure(reason))
            let held = await transfer.partial.length
            if machine.ranges.isPlain, !wasPlain, held > RangeCourse.largestUnsaid {
                client.retries(after: .zero, because: ResponseFailure(.fetchedAgain(held)))
            }
        case .retry(let reason, let seconds, let status):
            try await decide(
                after: outcome, because: ResponseFailure(reason, status: status, afterSeconds: seconds))
        case .discard(let reason):
            // Before the restart is counted, so that no later transfer uses these bytes if it was the last one.
            try await transfer.startBeside(because: reason)
            try await restart(because: reason)
            client.discarded(because: reason)
        case .closed(let origin, let time): try await wait(for: origin, until: time)
        case .wentBack:
            try await decide(after: outcome, because: ResponseFailure(.olderVersion))
            client.wentBack()
        case .askAgain: try await decide(after: outcome, because: ResponseFailure(.endedEarly))
        }
    }

    /// Counts a restart after bytes were discarded; throws the client's error after too many.
    mutating func restart(because reason: Reason) async throws {
        try await decide(after: .discard(reason), because: ResponseFailure(reason))
    }
}
