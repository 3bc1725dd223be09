internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// Fetches what is missing over several connections: the body of the first response, and those of further requests for
/// other parts of the same representation.
///
/// ``SegmentPlan`` decides which; this sends the requests and moves the bodies. It ends when no stream runs any more.
struct SegmentedBody {
    let run: DownloadRun
    let terms: Terms
    /// The retries that are left.
    let budget: RetryBudget

    /// What the further requests depend on.
    struct Terms {
        let length: Int64
        let representation: Representation
        let policy: ResumePolicy

        /// nil where one stream is all that there may be.
        init?(of transfer: isolated Transfer) {
            let (partial, policy) = (transfer.partial, transfer.policy)
            guard let length = partial.lengthForSegments(policy), let representation = partial.representation else {
                return nil
            }
            self.length = length
            self.representation = representation
            self.policy = policy
        }
    }

    /// How it ended.
    struct Outcome {
        /// How the first body ended.
        var first = Transfer.BodyEnding.cut
        /// Bytes that came over the network.
        var bytes: Int64 = 0
        /// What ends the download, or begins it anew.
        var failure: (any Error)?
        /// Why a stream ended last before its end; nil where none did since one came to its own.
        var interruption: Reason?
        /// How many connections the server may be asked for from now on.
        var connections: Int
        var budget: RetryBudget
    }

    /// What a task tells.
    enum Report: Sendable {
        /// A request was answered, or not.
        case answered(Int, Result<(TransportResponse, SegmentVerdict), any Error>)
        /// A body ended.
        case ended(Int, BodyPump.Outcome)
        /// Time has passed.
        case tick
    }

    struct Asked {
        var range: Range<Int64>
        var splitting: Int?
    }

    struct Running {
        let segment: PartStream
        let body: any ResponseBody
        let start: Int64
    }

    private static let interval: Duration = .milliseconds(250)

    /// Moves the first body, and what else there is to fetch.
    ///
    /// What it leaves is to be ended with ``Transfer/endBody(_:)``.
    func run(with pump: BodyPump) async -> Outcome {
        await withTaskGroup(of: Report.self) { group in
            var crew = Crew(self)
            crew.begin(pump, into: run.transfer.main, as: 0, in: &group)
            group.addTask { await Self.tick() }
            await crew.act(in: &group)
            while crew.isBusy, let report = await group.next() {
                await crew.take(report, in: &group)
                await crew.act(in: &group)
            }
            group.cancelAll()
            // An answer that comes at the last moment is not left hanging.
            for await report in group {
                if case .answered(_, .success(let (response, _))) = report {
                    response.body.cancel(with: CancellationError())
                }
            }
            return crew.outcome
        }
    }

    static func tick() async -> Report {
        try? await Task.sleep(for: interval)
        return .tick
    }

    /// Asks for a range.
    func ask(_ range: Range<Int64>, held: [Range<Int64>]) async throws -> (TransportResponse, SegmentVerdict) {
        let request = Plan.RangeRequest(
            segment: range, held: held, validator: terms.representation.validator, policy: terms.policy)
        let response = try await run.send(.range(request))
        return (
            response,
            SegmentVerdict(for: response.head, to: request, stored: terms.representation, policy: terms.policy)
        )
    }
}
