package import HTTPTypes
package import ResumeHTTP

/// The requests of one download, one after another, until its transfer is complete.
///
/// Pure values make the decisions (`Plan`, `SpotCheck`, `Verdict`, `RequestCourse`), and the client does the I/O. The
/// loop decides their order: plan, spot checks, request, verdict, body, and then the next request, a delay or the end.
package struct RequestLoop<Client: RequestClient> {
    /// Sends a GET request for a plan and follows redirects.
    ///
    /// A request without a usable response throws a ``RequestOutcome``. Any other error ends the download. The client
    /// does not store it, since the closure of a fetch does not escape.
    package typealias Send = (inout Client, Plan) async throws -> (head: HTTPResponse, body: Client.Body)

    package var client: Client
    private var course: RequestCourse
    private let spotCheckSeed: UInt64?

    /// Creates a loop that has sent no request yet; without a seed, the offsets of spot checks are random.
    package init(_ client: Client, _ limits: RetryBudget.Limits, spotCheckSeed: UInt64? = nil) {
        self.client = client
        course = RequestCourse(limits)
        self.spotCheckSeed = spotCheckSeed
    }

    /// Sends requests until the transfer is complete.
    package mutating func run(_ send: Send) async throws {
        while await !client.transfer.isComplete {
            try Task.checkCancellation()
            let plan = await client.transfer.plan(avoidsRange: course.avoidsRange)
            let outcome: RequestOutcome
            do {
                try await spotCheck(before: plan, send)
                outcome = try await exchange(plan, send)
            } catch let early as RequestOutcome {
                outcome = early
            }
            try await follow(outcome, of: plan)
        }
    }

    /// Sends one request and carries out the verdict on its response.
    private mutating func exchange(_ plan: Plan, _ send: Send) async throws -> RequestOutcome {
        let (head, body) = try await send(&client, plan)
        let held = await client.transfer.partial
        let verdict: Verdict
        do {
            verdict = try await client.receive(head, to: plan)
            if let use = verdict.continuation, !course.began(anew: verdict.replaces && !held.isEmpty) {
                throw client.unstable(because: use.reason)
            }
            await client.judged(verdict, after: held)
        } catch {
            client.cancel(body)
            throw error
        }
        if !verdict.usesBody { client.cancel(body) }
        switch verdict {
        case .append, .startOver, .startRange:
            let start = verdict.replaces ? 0 : held.length
            return try await client.move(body, of: head, verdict, from: start, budget: &course.budget)
        case .complete: return .body(received: 0, failure: nil)
        case .askForWhole(let reason): return .askForWhole(reason)
        case .retry(let reason, let seconds):
            return .retry(reason, afterSeconds: seconds, status: head.status.code)
        case .refuse(let reason): return try await client.refused(by: head, because: reason)
        }
    }

    /// Decides what follows a request.
    private mutating func follow(_ outcome: RequestOutcome, of plan: Plan) async throws {
        switch outcome {
        case .body(let received, let failure):
            if await client.transfer.isComplete { return }
            try await follow(
                .body(received: received, failed: failure != nil), because: failure ?? FetchError(.endedEarly))
        case .askForWhole(let reason):
            try await follow(.askForWhole(reason), because: FetchError(reason))
        case .retry(let reason, let seconds, let status):
            let failedRange = if case .range = plan { status == 500 } else { false }
            try await follow(
                .retry(afterSeconds: seconds, failedRange: failedRange), because: FetchError(reason, status: status))
        case .discard(let reason):
            // Discard first, so that no later transfer uses these bytes if this was the last attempt.
            try await client.transfer.discard(reason: reason)
            try await restart(because: reason)
            client.discarded(because: reason)
        case .renewed: break
        }
    }

    /// Counts a restart after bytes were discarded; throws the client's error after too many.
    package mutating func restart(because reason: Reason) async throws {
        try await follow(.discarded, because: FetchError(reason))
    }

    /// Continues at once or after a delay, or gives up.
    private mutating func follow(_ outcome: RequestCourse.Outcome, because failure: any Error) async throws {
        if failure is CancellationError || Task.isCancelled { throw CancellationError() }
        switch course.next(after: outcome, jitter: Double.random(in: 0...1)) {
        case .askAgain: return
        case .wait(let delay):
            client.retries(after: delay, because: failure)
            try await Task.sleep(for: delay)
        case .giveUp: throw await client.exhausted(because: failure)
        case .unstable: throw client.unstable(because: (failure as? FetchError)?.reason ?? .endedEarly)
        }
    }
}

/// Spot checks, for servers that send neither a validator nor a digest.
extension RequestLoop {
    /// Requests a few stored ranges again and compares them.
    ///
    /// - Throws: A ``RequestOutcome`` if the plan must not be carried out.
    private mutating func spotCheck(before plan: Plan, _ send: Send) async throws {
        guard case .range = plan else { return }
        let (held, policy) = (await client.transfer.partial, await client.policy)
        guard let stored = held.representation else { return }
        let seed = spotCheckSeed ?? UInt64.random(in: .min ... .max)
        for check in SpotCheck.all(for: plan, held: held, policy: policy, seed: seed) {
            let (head, body) = try await send(&client, .range(check.request))
            let verdict = SpotVerdict(for: head, to: check, stored: stored, policy: policy)
            if verdict != .compare { client.cancel(body) }
            switch verdict {
            case .compare: try await compare(check, with: body)
            case .askForWhole(let reason):
                try await client.note(reason)
                throw RequestOutcome.askForWhole(reason)
            case .retry(let reason, let seconds):
                throw RequestOutcome.retry(reason, afterSeconds: seconds, status: head.status.code)
            case .refuse(let reason): throw try await client.refused(by: head, because: reason)
            }
        }
    }

    private mutating func compare(_ check: SpotCheck, with body: Client.Body) async throws {
        let count = Int(check.range.upperBound &- check.range.lowerBound)
        let sent = try await client.read(count, from: body)
        guard sent.count >= count else {
            try await client.note(.spotCheckUnanswered)
            throw RequestOutcome.askForWhole(.spotCheckUnanswered)
        }
        let held: [UInt8]
        do {
            held = try await client.transfer.read(check.range)
        } catch let error as StoreError where error.code == .heldBytesDiffer {
            // These bytes are damaged on disk. They are requested again before the delivery.
            return
        }
        if let reason = check.difference(between: held, and: sent) { throw RequestOutcome.discard(reason) }
    }
}
