import HTTPTypes
import ResumeHTTP
import ResumeStore

/// Fetches the missing ranges over several connections: with the body of the first response and with further requests
/// for other ranges of the same representation.
///
/// ``SegmentPlan`` decides which; this type sends the requests and transfers the bodies, until no stream is running.
struct SegmentedBody {
    let run: DownloadRun
    let terms: Terms
    var outcome: Outcome
    var plan: SegmentPlan
    /// The bodies that are being received, with the offset at which each began, and whether the plan closed it.
    var running: [Int: (segment: PartStream, body: any ResponseBody, start: Int64, isClosed: Bool)] = [:]
    /// The requests without a response, and the stream whose range each of them splits.
    var asked: [Int: (range: Range<Int64>, splitting: Int?)] = [:]
    private var lastID = 0
    /// How many responses in a row were of no use because other streams had already fetched their range.
    var tooLate = 0
    /// The work to start; each part ends with a report.
    private var starts: [@Sendable () async -> Report] = []
    var isStopping = false
    private let started: ContinuousClock.Instant
    private let streams = BodyPump.StreamCount()

    private static let interval: Duration = .milliseconds(250)

    init(run: DownloadRun, terms: Terms, budget: RetryBudget) {
        self.run = run
        self.terms = terms
        started = run.request.clock()
        plan = SegmentPlan(length: terms.length, connections: run.connections, overlap: terms.policy.overlap)
        outcome = Outcome(connections: run.connections, budget: budget)
    }

    typealias Response = (FetchResponse<any ResponseBody>, SegmentVerdict)

    /// The properties of the download that further requests depend on.
    struct Terms {
        let length: Int64
        let representation: Representation
        let policy: ResumePolicy

        /// Returns nil if only one stream is possible.
        init?(of transfer: isolated Transfer) {
            let partial = transfer.partial
            policy = transfer.policy
            guard !transfer.isUnderDigest, let length = partial.lengthForSegments(policy),
                let representation = partial.representation
            else {
                return nil
            }
            self.length = length
            self.representation = representation
        }

        func ask(_ range: Range<Int64>, held: [Range<Int64>], by run: DownloadRun) async throws -> Response {
            let request = Plan.RangeRequest(
                segment: range, held: held, validator: representation.validator, policy: policy)
            let (response, route) = try await run.reply(to: .range(request))
            // Another address may have other bytes; a request of the single stream decides.
            let settled = run.history.settled?.redirection.url.address
            guard settled == nil || route.redirection.url.address == settled else {
                return (response, .noMore(.otherAddressOfPart))
            }
            return (response, SegmentVerdict(for: response.head, to: request, stored: representation, policy: policy))
        }
    }

    struct Outcome {
        var first = Transfer.BodyEnding.cut
        /// The number of bytes received over the network.
        var bytes: Int64 = 0
        /// The error that ends or restarts the download.
        var failure: (any Error)?
        /// Why a stream ended early most recently; nil if none has since another one completed.
        var interruption: Reason?
        /// The maximum number of connections from now on.
        var connections: Int
        /// The retries that are left.
        var budget: RetryBudget
    }

    /// What a child task reports.
    enum Report {
        /// A request was answered or failed.
        case responded(Int, Result<Response, any Error>)
        case ended(Int, BodyPump.Outcome)
        /// An interval has passed.
        case tick
    }

    var isBusy: Bool { !running.isEmpty || !asked.isEmpty }

    var transfer: Transfer { run.transfer }

    var now: Double { (run.request.clock() - started) / .seconds(1) }

    /// Transfers the first body and the other missing ranges.
    ///
    /// Afterwards, call ``Transfer/endBody(_:)``.
    mutating func run(with pump: BodyPump) async -> Outcome {
        await withTaskGroup(of: Report.self) { group in
            begin(pump, into: transfer.main, as: 0)
            await take(.tick)
            await act()
            start(in: &group)
            while isBusy, let report = await group.next() {
                await take(report)
                await act()
                start(in: &group)
            }
            group.cancelAll()
            // Responses that arrive now must be cancelled, so that their connections are released.
            for await report in group {
                if case .responded(_, .success(let (response, _))) = report { response.body.cancel() }
            }
            return outcome
        }
    }

    mutating func begin(_ pump: BodyPump, into segment: PartStream, as id: Int) {
        var pump = pump
        pump.streams = streams
        running[id] = (segment, pump.body, segment.held, false)
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

    mutating func waitForTick() {
        starts.append {
            try? await Task.sleep(for: Self.interval)
            return .tick
        }
    }

    /// Performs the actions of the plan.
    private mutating func act() async {
        defer { streams.update(running.count + asked.count) }
        guard !isStopping, !Task.isCancelled else { return }
        let streams = running.map { id, stream in
            SegmentPlan.Stream(id: id, start: stream.start, position: stream.segment.held, end: stream.segment.end)
        }
        // Read after the positions above, so that no bytes seem to be missing between the received and the expected
        // ones.
        let held = await transfer.heldRanges
        run.digest.running?.advance(to: await transfer.contiguousLength)
        let state = SegmentPlan.State(held: held, running: streams, asked: asked.values.map(\.range), now: now)
        let actions = plan.actions(state)
        outcome.connections = plan.limit
        for action in actions {
            switch action {
            case .close(let id):
                running[id]?.isClosed = true
                running[id]?.body.cancel(
                    with: TransportError(.stalled, "closed because it was slower than the other connections"))
            case .open(let range, let splitting):
                lastID += 1
                asked[lastID] = (range, splitting)
                starts.append { [run, terms, id = lastID] in
                    .responded(id, await Result { try await terms.ask(range, held: held, by: run) })
                }
            }
        }
    }

    /// Starts what was decided, or cancels everything.
    private mutating func start(in group: inout TaskGroup<Report>) {
        for start in starts { group.addTask { await start() } }
        starts = []
        if isStopping { group.cancelAll() }
    }
}
