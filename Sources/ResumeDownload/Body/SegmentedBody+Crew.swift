import ResumeFiles
import ResumeHTTP
import ResumeStore

extension SegmentedBody {
    /// The concurrent streams of a download and their common state.
    struct Crew {
        let work: SegmentedBody
        var outcome: Outcome
        private var plan: SegmentPlan
        private var running: [Int: Running] = [:]
        private var asked: [Int: Asked] = [:]
        /// The streams that were closed by the plan.
        private var closed: Set<Int> = []
        private var lastID = 0
        /// How many responses in a row were of no use because other streams had already fetched their range.
        private var tooLate = 0
        private static let mostTooLate = 8
        /// The work to start; each part ends with a report.
        private var starts: [@Sendable () async -> Report] = []
        private var isStopping = false
        private let started: ContinuousClock.Instant
        private let streams = StreamCount()

        init(_ work: SegmentedBody) {
            self.work = work
            started = work.run.request.clock()
            plan = SegmentPlan(
                length: work.terms.length, connections: work.run.connections, overlap: work.terms.policy.overlap)
            outcome = Outcome(connections: work.run.connections, budget: work.budget)
        }

        var isBusy: Bool { !running.isEmpty || !asked.isEmpty }

        private var transfer: Transfer { work.run.transfer }

        private var now: Double { (work.run.request.clock() - started) / .seconds(1) }

        mutating func begin(_ pump: BodyPump, into segment: PartStream, as id: Int) {
            var pump = pump
            pump.streams = streams
            running[id] = Running(segment: segment, body: pump.body, start: segment.held)
            starts.append { [pump, transfer] in
                let ended = await pump.run(into: segment)
                // A failure here recurs when all streams have ended, and is reported then. While another process locks
                // the database, each attempt takes as long as SQLite waits.
                if (ended.failure as? StoreError)?.code != .busy {
                    try? await transfer.run { _ in try segment.checkpoint() }
                }
                return .ended(id, ended)
            }
        }

        /// Performs the actions of the plan.
        mutating func act() async {
            defer { streams.update(running.count + asked.count) }
            guard !isStopping, !Task.isCancelled else { return }
            let streams = running.map { id, stream in
                SegmentPlan.Stream(id: id, start: stream.start, position: stream.segment.held, end: stream.segment.end)
            }
            // Read after the positions above, so that no bytes seem to be missing between the received and the expected
            // ones.
            let held = await transfer.heldRanges
            work.run.digest.running?.advance(to: await transfer.contiguousLength)
            let state = SegmentPlan.State(held: held, running: streams, asked: asked.values.map(\.range), now: now)
            let actions = plan.actions(state)
            outcome.connections = plan.limit
            for action in actions {
                switch action {
                case .close(let id):
                    closed.insert(id)
                    running[id]?.body.cancel(
                        with: TransportError(.stalled, "closed because it was slower than the other connections"))
                case .open(let range, let splitting):
                    lastID += 1
                    asked[lastID] = Asked(range: range, splitting: splitting)
                    starts.append { [work, id = lastID] in
                        .answered(id, await Result { try await work.ask(range, held: held) })
                    }
                }
            }
        }

        mutating func take(_ report: Report) async {
            switch report {
            case .tick:
                // Not repeated once cancelled, since the sleep would then return at once.
                guard !isStopping, !Task.isCancelled else { return }
                starts.append { await SegmentedBody.tick() }
            case .ended(let id, let ended):
                outcome.bytes += ended.bytes
                guard let stream = running.removeValue(forKey: id) else { return }
                if id == 0 { outcome.first = ended.ending }
                let start = stream.start
                let held = stream.segment.held
                let end = stream.segment.end
                if let error = ended.failure {
                    bodyFailed(with: error, received: stream.segment.recorded - start, as: id)
                } else if held == start, held < end {
                    // The response had no body, and the next one may not have one either, so this counts as a failure.
                    failed(because: .endedEarly, received: 0)
                } else {
                    outcome.interruption = nil
                }
            case .answered(let id, let result):
                guard let question = asked.removeValue(forKey: id) else { return }
                await answered(question, result, as: id)
            }
        }

        private mutating func answered(
            _ question: Asked, _ result: SegmentedBody.Answer, as id: Int
        ) async {
            let response: FetchResponse<any ResponseBody>
            let verdict: SegmentVerdict
            switch result {
            case .success(let answer): (response, verdict) = answer
            case .failure(let error):
                // A permanent error is reported by the single stream that follows, and an invalid response to a range
                // request would be repeated.
                if let error = error as? TransportError, error.isTransient,
                    ![.notConnected, .invalidResponse].contains(error.code)
                {
                    failed(because: .transport(error), received: 0)
                } else {
                    await refused(because: Reason(for: error))
                }
                return
            }
            do {
                switch verdict {
                case .use(let continuation):
                    let splitting = question.splitting.flatMap { running[$0]?.segment }
                    guard !isStopping, let segment = try await transfer.open(continuation, splitting: splitting) else {
                        tooLate += 1
                        if tooLate > Self.mostTooLate { refuse() }
                        break
                    }
                    tooLate = 0
                    let pump = BodyPump(body: response.body, request: work.run.request, digest: nil, contentDigest: nil)
                    return begin(pump, into: segment, as: id)
                case .noMore(let reason):
                    if let seconds = ResponseTiming(response.head).afterSeconds {
                        let request = work.run.request
                        let origin = (response.url ?? request.url).origin
                        request.origins?.close(origin, asAskedBy: response.head, on: request.waitClock)
                        plan.wait(until: now + Double(seconds))
                    }
                    await refused(because: reason)
                case .stop(let reason):
                    outcome.connections = 1
                    try await transfer.note(reason)
                    stop()
                }
            } catch {
                fail(with: error)
            }
            response.body.cancel()
        }

        /// Limits the connections to those that are open now.
        private mutating func refuse() {
            plan.refused(running: running.count + asked.count)
        }

        /// Handles a server that accepts no more connections than are open now.
        private mutating func refused(because reason: Reason) async {
            guard !isStopping, !Task.isCancelled else { return }
            refuse()
            outcome.connections = plan.limit
            if !isBusy { outcome.interruption = reason }
            try? await transfer.note(reason)
        }

        /// Handles a body that ended early.
        private mutating func bodyFailed(
            with error: any Error, received: Int64, as id: Int
        ) {
            let isFinal = (error as? StoreError).map { $0.code != .surplusBytes }
            if isFinal ?? (!isStopping && (error is DownloadError || error is CancellationError)) {
                fail(with: error)
            } else if !closed.contains(id) {
                failed(because: Reason(for: error), received: received)
            }
        }

        private mutating func fail(with error: any Error) {
            outcome.failure = outcome.failure ?? error
            stop()
        }

        /// Handles a temporary failure of a stream.
        private mutating func failed(because reason: Reason, received: Int64) {
            guard !isStopping else { return }
            outcome.interruption = reason
            // If nothing else runs, the single stream that follows counts the failure.
            guard isBusy else { return stop() }
            let moment = RetryBudget.Moment(
                now: work.run.request.waitClock.now(), total: work.terms.length, jitter: Double.random(in: 0...1))
            if case .wait(let delay) = outcome.budget.failed(received: received, at: moment) {
                plan.wait(until: now + delay / .seconds(1))
            } else {
                refuse()
            }
        }

        /// Starts what was decided, or cancels everything.
        mutating func start(in group: inout TaskGroup<Report>) {
            for start in starts { group.addTask { await start() } }
            starts = []
            if isStopping { group.cancelAll() }
        }

        private mutating func stop() {
            isStopping = true
        }
    }
}
