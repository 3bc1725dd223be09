package import HTTPTypes

/// Decides what a download does next, from its first request until all of its bytes are stored.
///
/// It is a value without I/O or a clock: times come with the inputs. A driver carries out one action
/// after the other and hands over the result to ``handle(_:)``. When a request has ended, it asks ``next(after:at:)``
/// whether to go on, to wait or to give up. `Plan`, `Verdict`, `RangeCourse`, `SampleCourse` and `RetryBudget` decide the
/// parts. docs/architecture.md has a table of the states.
package struct DownloadMachine: Sendable {
    /// What a download does at the moment.
    package enum State: Sendable {
        /// What is stored is examined, to plan a request.
        case planning
        /// Samples of the stored bytes are compared with the server's file before a planned request is sent.
        case comparing(Plan, Stored)
        /// A planned request is sent, and its response is evaluated.
        case requesting(Plan)
        /// The transfer prepares for what a verdict on the response says.
        case preparing(Verdict, Response)
        /// The response cannot be used to continue the stored bytes; the caller is asked for another URL.
        case renewing(Reason, Response)
        /// The body of the response is received.
        case receiving(Verdict, Response)
        /// The request has ended, and what follows is not decided yet.
        case ended(Plan)
        case complete

        /// The plan of the request; nil if there is none.
        var plan: Plan? {
            switch self {
            case .comparing(let plan, _), .requesting(let plan), .ended(let plan): plan
            case .preparing(_, let response), .renewing(_, let response), .receiving(_, let response): response.plan
            case .planning, .complete: nil
            }
        }
    }

    /// What is stored, as far as a comparison of samples depends on it.
    package struct Stored: Sendable {
        let held: HeldPartial
        let ranges: [Range<Int64>]
        let proof: Proof
        let policy: ResumePolicy

        /// What proves the stored bytes.
        package enum Proof: Sendable {
            /// The validator, or what is known of the server's file.
            case representation
            /// Samples of all of them.
            ///
            /// `isAdopted` if another program has received them. `isMarked` if a caller has named a digest under which
            /// some of them were received, which this caller does not name.
            case samples(isAdopted: Bool, isMarked: Bool)
            /// A hash of the bytes, which were passed on to the reader of `get -o -` and are not stored.
            case hash
        }

        /// Describes what is stored; `ranges` are all stored ranges, also those behind gaps.
        package init(_ held: HeldPartial, in ranges: [Range<Int64>], provedBy proof: Proof, policy: ResumePolicy) {
            self.held = held
            self.ranges = ranges
            self.proof = proof
            self.policy = policy
        }
    }

    /// What is known of a response besides its verdict.
    package struct Response: Sendable {
        let plan: Plan
        let status: HTTPResponse.Status
        let held: HeldPartial
        /// The number of bytes in its range; nil if it has none.
        let count: Int64?
        let refusals: Set<Reason.Code>

        /// Describes a response.
        ///
        /// - Parameters:
        ///   - plan: The plan of the request.
        ///   - head: The head of the response.
        ///   - held: What was stored before it.
        ///   - refusals: Why the origin has refused ranges of other files, if it then refused the whole file for the
        ///     same reason; they are used only if the verdict asks for the whole file.
        package init(to plan: Plan, _ head: HTTPResponse, after held: HeldPartial, refusals: Set<Reason.Code>) {
            self.plan = plan
            status = head.status
            self.held = held
            self.refusals = refusals
            let range = ContentRange(in: head.headerFields)
            count = if case .bytes(let first, let last, _) = range { last - first + 1 } else { nil }
        }
    }

    /// The result of an action.
    package enum Input: Sendable {
        case planned(Plan, Stored)
        /// No byte is missing.
        case isComplete
        case compared(SampleVerdict)
        case evaluated(Evaluation, Response)
        /// The transfer is prepared, and may have waited for room, which is no time of failures.
        case prepared(after: Duration)
        /// Whether the caller has another URL or other header fields.
        case renewed(Bool)
        /// The body was received, as far as it came.
        case received(RequestOutcome)
        case failed(RequestOutcome)
        /// The action is done, and has no result.
        case goOn
    }

    /// What the driver does.
    package enum Action: Sendable {
        /// Plan a request, which avoids ranges if there is a reason.
        case plan(avoiding: Reason?)
        /// Compare samples of these ranges with the server's file, which must be the representation if that is proved;
        /// `shift` is the offset in the representation minus the offset in the file.
        case compare([Range<Int64>], of: Representation, isProved: Bool, shift: Int64)
        /// Discard the bytes that were received under a digest that this caller does not name.
        case dropMarked(Reason)
        /// Send a request and evaluate the response.
        case request(Plan)
        /// Prepare the transfer for a verdict: a new blob, room, the validators to store.
        case prepare(Verdict)
        case renew
        /// End the download, unless the caller has another URL; `isRepeated` if it was refused for this reason before.
        case refuse(Reason, isRepeated: Bool)
        /// Receive the body if the verdict uses it.
        case receive(Verdict, after: HeldPartial)
        /// The request has ended; record why the stored bytes were not used, and the size of the closed range that the
        /// server sent, if there are.
        case end(RequestOutcome, noting: Reason? = nil, sent: Int64? = nil)
        /// End the download: it restarted too often.
        case fail(unstable: Reason)
        /// End: all bytes are stored.
        case finish
    }

    package internal(set) var state = State.planning
    /// The remaining retries and restarts.
    package var budget: RetryBudget
    /// How ranges are requested.
    package var ranges = RangeCourse()
    /// How often the server failed with status 500 at a range.
    var failedRanges = 0
    /// The number of unused responses since a body brought bytes.
    var unusedResponses = 0
    /// Why the next request is for the whole file whatever is stored; nil if it is not.
    var reasonForWhole: Reason?
    /// The number of bytes that were stored when samples of them were compared last.
    var comparedLength: Int64?
    /// The largest number of bytes that the transfer has held.
    var furthest: Int64 = 0

    /// The number of unused responses that are no failure.
    static let mostUnused = 24
    /// A complete body with fewer bytes is followed by a pause.
    static let small: Int64 = 64 << 10

    /// Begins with a full budget.
    package init(_ limits: RetryPolicy) {
        budget = RetryBudget(limits)
    }

    /// Whether samples of this number of stored bytes have just agreed.
    package func hasCompared(_ length: Int64) -> Bool { comparedLength == length }

    /// Decides what to do after an action.
    package mutating func handle(_ input: Input) -> Action {
        switch (state, input) {
        case (.planning, .planned(let plan, let stored)): return planned(plan, stored)
        case (.planning, .isComplete):
            state = .complete
            return .finish
        case (.comparing(let plan, let stored), .compared(let verdict)): return compared(verdict, plan, stored)
        case (.requesting, .evaluated(let evaluation, let response)): return evaluated(evaluation, response)
        case (.preparing(let verdict, let response), .prepared(let time)):
            budget.leaveOut(time)
            return prepared(verdict, response)
        case (.renewing(let reason, let response), .renewed(let isRenewed)):
            return renewed(isRenewed, reason, response)
        case (.receiving(let verdict, let response), .received(let outcome)):
            return received(outcome, verdict, response)
        case (_, .failed(let outcome)): return end(outcome)
        // `goOn`, and what does not belong to the state.
        default: return planAgain()
        }
    }

    mutating func planAgain() -> Action {
        state = .planning
        return .plan(avoiding: rangeObstacle)
    }

    mutating func end(_ outcome: RequestOutcome, noting reason: Reason? = nil, sent size: Int64? = nil) -> Action {
        if let plan = state.plan { state = .ended(plan) }
        return .end(outcome, noting: reason, sent: size)
    }

    /// Why no range is requested; nil if one may be.
    var rangeObstacle: Reason? { reasonForWhole ?? (ranges.isPlain ? .rangeFailsRepeatedly : nil) }
}
