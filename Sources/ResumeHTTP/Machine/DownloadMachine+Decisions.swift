import HTTPTypes

/// The decisions: each function is called with the input of the same name.
extension DownloadMachine {
    /// Compares samples before a planned request if nothing else proves the stored bytes.
    mutating func planned(_ plan: Plan, _ stored: Stored) -> Action {
        let plan = plan.limited(by: &ranges, of: stored.held.representation?.completeLength)
        state = .comparing(plan, stored)
        guard rangeObstacle == nil, let representation = stored.held.representation, !stored.held.isEmpty else {
            return send(plan)
        }
        let places: [Range<Int64>]
        let shift: Int64
        switch (stored.proof, plan) {
        case (.samples, _):
            guard let known = stored.held.sampleShift else { return giveUp(.samplesUnanswered, stored) }
            (places, shift) = (stored.ranges, known)
        case (.representation, .range(let next))
        where next.validator == nil && comparedLength != stored.held.length && !stored.policy.hasProof:
            // The response to the plan's request brings the bytes from its start on again, and they are compared then. A
            // damaged row must not overflow.
            let first = next.first &- next.shift
            places = [first..<max(first, next.start &- next.shift)] + (stored.held.nextHeld.map { [$0] } ?? [])
            shift = next.shift
        case (.representation, _), (.hash, _): return send(plan)
        }
        return .compare(places, of: representation, isProved: !stored.needsSamples, shift: shift)
    }

    private mutating func send(_ plan: Plan) -> Action {
        state = .requesting(plan)
        return .request(plan)
    }

    mutating func compared(_ verdict: SampleVerdict, _ plan: Plan, _ stored: Stored) -> Action {
        switch verdict {
        case .agree:
            comparedLength = stored.held.length
            // The next plan depends on what was learned.
            return stored.needsSamples ? planAgain() : send(plan)
        case .differ(let reason) where stored.isNotAdopted: return giveUp(reason, for: .otherFile, stored)
        case .unproved(let reason) where stored.isNotAdopted: return giveUp(reason, stored)
        case .differ(let reason): return end(.discard(reason))
        case .unproved(let reason): return end(.askForWhole(reason), noting: reason)
        }
    }

    /// Gives up bytes that only another caller's digest proves, or requests the whole file beside the stored bytes.
    private mutating func giveUp(_ reason: Reason, for next: Reason? = nil, _ stored: Stored) -> Action {
        guard case .samples(_, isMarked: true) = stored.proof else {
            return end(.askForWhole(next ?? reason), noting: reason)
        }
        return .dropMarked(reason)
    }

    /// Decides whether a verdict is followed.
    mutating func evaluated(_ evaluation: Evaluation, _ response: Response) -> Action {
        furthest = max(furthest, response.held.length)
        switch evaluation {
        // The transfer knows now that samples must agree, so the next plan begins with them.
        case .omitsCondition, .compareSamples: return end(.askAgain)
        case .requestWhole(let reason): return end(.askForWhole(reason))
        case .wentBack: return end(.wentBack)
        case .judged(let verdict):
            if response.status == .ok, !response.held.isEmpty, case .append(let use) = verdict, use.bodyStart == 0,
                ranges.closeBody(prefix: use.offset, isConditional: response.plan.hasIfRange)
            {
                // A range is requested again.
                reasonForWhole = nil
                return end(.askAgain)
            }
            var verdict = verdict
            // The origin has refused the whole of another file too, for the reason for which it refused a range.
            if case .askForWhole(let reason) = verdict, response.refusals.contains(reason.code) {
                verdict = .refuse(reason)
            }
            state = .preparing(verdict, response)
            return .prepare(verdict)
        }
    }

    mutating func prepared(_ verdict: Verdict, _ response: Response) -> Action {
        // A body that comes again, to be compared with what was passed on, is no restart.
        let isAnew = verdict.replaces && !response.held.isEmpty && !verdict.sendsAgain
        if let use = verdict.continuation, !began(anew: isAnew) { return .fail(unstable: use.reason) }
        switch verdict {
        case .append, .startOver, .startRange, .complete:
            state = .receiving(verdict, response)
            return .receive(verdict, after: response.held)
        case .askForWhole(let reason):
            state = .renewing(reason, response)
            return .renew
        case .retry(let reason, let seconds):
            return end(.retry(reason, afterSeconds: seconds, status: response.status.code))
        case .refuse(let reason):
            state = .ended(response.plan)
            return .refuse(reason, isRepeated: reasonForWhole?.code == reason.code)
        }
    }

    /// Records that the body of a response is used.
    ///
    /// - Parameter anew: Whether the body replaces the stored bytes.
    /// - Returns: Whether that is allowed; false if it happened too often.
    private mutating func began(anew: Bool) -> Bool {
        defer { reasonForWhole = nil }
        if anew { ranges.startedOver() }
        // The restart has been counted when the whole file was requested.
        return !anew || reasonForWhole != nil || budget.restarted()
    }

    mutating func renewed(_ isRenewed: Bool, _ reason: Reason, _ response: Response) -> Action {
        let isSmaller = !isRenewed && reason == .noProgress && response.count.map { ranges.sentNothingNew($0) } == true
        return end(isRenewed || isSmaller ? .askAgain : .askForWhole(reason))
    }

    /// Learns from a body which ranges the server sends.
    mutating func received(_ outcome: RequestOutcome, _ verdict: Verdict, _ response: Response) -> Action {
        guard case .body(let received, let failure) = outcome, verdict.usesBody else { return end(outcome) }
        var closedSize: Int64?
        if case .range = response.plan, let count = response.count {
            ranges.sent(count)
            closedSize = ranges.acceptedSize
        } else if received == 0 {
            ranges.endedInPrefix(isConditional: response.plan.hasIfRange)
        }
        // What comes again is no progress.
        let new = verdict.sendsAgain ? max(received - furthest, 0) : received
        return end(.body(received: new, failure: failure), sent: closedSize)
    }

    /// Decides what follows a request: another one, a wait, or the end.
    package mutating func next(after outcome: RequestOutcome, at moment: RetryBudget.Moment) -> RetryBudget.Action {
        switch outcome {
        case .body(let received, let failure):
            if received > 0 { (failedRanges, unusedResponses) = (0, 0) }
            // The request was for a part, which is complete.
            if received > 0, failure == nil {
                budget.add(received, of: moment.total)
                return received < Self.small ? .wait(RetryBudget.pause) : .askAgain
            }
            return budget.failed(received: received, at: moment)
        case .discard, .wentBack: return restart(forWhole: nil)
        case .askAgain:
            unusedResponses += 1
            return unusedResponses <= Self.mostUnused ? .askAgain : budget.failed(received: 0, at: moment)
        case .askForWhole(let reason): return ranges.refused() ? restart(forWhole: reason) : .askAgain
        case .retry(_, let seconds, let status):
            // An overloaded server fails at every request; one that cannot serve ranges responds with 500 to those.
            if status == 500, case .range? = state.plan { failedRanges += 1 }
            if failedRanges >= 2, reasonForWhole == nil {
                guard restart(forWhole: .rangeFailsRepeatedly) == .askAgain else { return .unstable }
            }
            return budget.failed(received: 0, retryAfter: seconds, at: moment)
        // The loop waits for the origin.
        case .crowded, .closed: return .askAgain
        }
    }

    private mutating func restart(forWhole reason: Reason?) -> RetryBudget.Action {
        reasonForWhole = reason
        return budget.restarted() ? .askAgain : .unstable
    }
}

extension DownloadMachine.Stored {
    fileprivate var needsSamples: Bool { if case .samples = proof { true } else { false } }

    /// Whether samples must agree because the bytes are from another URL or under a digest, not from another program.
    fileprivate var isNotAdopted: Bool { if case .samples(isAdopted: false, _) = proof { true } else { false } }
}
