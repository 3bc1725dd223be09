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
    /// The retries that are left.
    let budget: RetryBudget

    /// The properties of the download that further requests depend on.
    struct Terms {
        let length: Int64
        let representation: Representation
        let policy: ResumePolicy

        /// Returns nil if only one stream is possible.
        init?(of transfer: isolated Transfer) {
            let partial = transfer.partial
            let policy = transfer.policy
            guard !transfer.isUnderDigest, let length = partial.lengthForSegments(policy),
                let representation = partial.representation
            else {
                return nil
            }
            self.length = length
            self.representation = representation
            self.policy = policy
        }
    }

    /// The outcome of all streams.
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
        var budget: RetryBudget
    }

    typealias Answer = Result<(FetchResponse<any ResponseBody>, SegmentVerdict), any Error>

    /// What a child task reports.
    enum Report: Sendable {
        /// A request was answered or failed.
        case answered(Int, Answer)
        case ended(Int, BodyPump.Outcome)
        /// An interval has passed.
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

    /// Transfers the first body and the other missing ranges.
    ///
    /// Afterwards, call ``Transfer/endBody(_:)``.
    func run(with pump: BodyPump) async -> Outcome {
        await withTaskGroup(of: Report.self) { group in
            var crew = Crew(self)
            crew.begin(pump, into: run.transfer.main, as: 0)
            await crew.take(.tick)
            await crew.act()
            crew.start(in: &group)
            while crew.isBusy, let report = await group.next() {
                await crew.take(report)
                await crew.act()
                crew.start(in: &group)
            }
            group.cancelAll()
            // Responses that arrive now must be cancelled, so that their connections are released.
            for await report in group {
                if case .answered(_, .success(let (response, _))) = report { run.cancel(response.body) }
            }
            return crew.outcome
        }
    }

    static func tick() async -> Report {
        try? await Task.sleep(for: interval)
        return .tick
    }

    /// Requests a range.
    func ask(_ range: Range<Int64>, held: [Range<Int64>]) async throws -> (
        FetchResponse<any ResponseBody>, SegmentVerdict
    ) {
        let request = Plan.RangeRequest(
            segment: range, held: held, validator: terms.representation.validator, policy: terms.policy)
        let (response, route) = try await run.reply(to: .range(request))
        // Another address may have other bytes; a request of the single stream decides.
        guard run.settled == nil || route.redirection.url.address == run.settled?.redirection.url.address else {
            return (response, .noMore(.otherAddressOfPart))
        }
        return (
            response,
            SegmentVerdict(for: response.head, to: request, stored: terms.representation, policy: terms.policy)
        )
    }
}
