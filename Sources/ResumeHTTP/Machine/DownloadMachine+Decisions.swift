import HTTPTypes

/// The decisions of each state.
extension DownloadMachine {
    /// Begins with a plan: compares samples first if nothing else proves the stored bytes.
    mutating func begin(_ plan: Plan, _ stored: Stored, _ seed: UInt64) -> Action {
        let plan = plan.limited(by: &ranges, of: stored.held.representation?.completeLength)
        guard avoided == nil, let representation = stored.held.representation, !stored.held.isEmpty else {
            return send(plan)
        }
        let places: [Range<Int64>]
        let shift: Int64
        switch (stored.proof, plan) {
        case (.samples, _):
            guard let offset = stored.held.sampleShift else { return giveUp(.samplesUnanswered, stored) }
            (places, shift) = (stored.ranges, offset)
        case (.representation, .range(let next))
        where next.validator == nil && comparedLength != stored.held.length && !stored.policy.hasDigest:
            // The bytes after that are compared with the response to the plan's request.
            let first = next.first &- next.shift
            places = [first..<max(first, next.start &- next.shift)] + (stored.held.nextHeld.map { [$0] } ?? [])
            shift = next.shift
        case (.representation, _), (.hash, _): return send(plan)
        }
        state = .comparing(plan, stored)
        return .compare(
            SampleCourse(
                SampleGrid(over: places, seed: seed), of: representation, isProved: !stored.needsSamples,
                policy: stored.policy, shift: shift))
    }

    private mutating func send(_ plan: Plan) -> Action {
        state = .requesting(plan)
        return .request(plan)
    }

    /// Decides what the comparison of samples means for a plan.
    mutating func follow(_ verdict: SampleVerdict, _ plan: Plan, _ stored: Stored) -> Action {
        switch verdict {
        case .agree:
            comparedLength = stored.held.length
            // The next plan depends on what was learned.
            return stored.needsSamples ? planAgain() : send(plan)
        case .differ(let reason) where stored.isOwn: return giveUp(reason, for: .otherFile, stored)
        case .unproved(let reason) where stored.isOwn: return giveUp(reason, stored)
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
    mutating func judge(_ evaluation: Evaluation, _ answer: Answer) -> Action {
        furthest = max(furthest, answer.held.length)
        switch evaluation {
        case .omitsCondition, .compareSamples: return end(.askAgain)
        case .requestWhole(let reason): return end(.askForWhole(reason))
        case .wentBack: return end(.wentBack)
        case .judged(let verdict):
            if answer.status == .ok, !answer.held.isEmpty, case .append(let use) = verdict, use.bodyStart == 0,
                ranges.closeBody(prefix: use.offset, isConditional: answer.plan.hasIfRange)
            {
                // A range is requested again.
                avoidsRange = nil
                return end(.askAgain)
            }
            var verdict = verdict
            // Another file was refused in the same way without a range.
            if case .askForWhole(let reason) = verdict, answer.refusals.contains(reason.code) {
                verdict = .refuse(reason)
            }
            state = .preparing(verdict, answer)
            return .prepare(verdict)
        }
    }

    /// Decides what to do with a response after the transfer was prepared for its verdict.
    mutating func follow(_ verdict: Verdict, _ answer: Answer) -> Action {
        // Bytes that come again are neither a restart nor progress.
        let isAnew = verdict.replaces && !answer.held.isEmpty && !verdict.sendsAgain
        if let use = verdict.continuation, !began(anew: isAnew) { return .fail(unstable: use.reason) }
        switch verdict {
        case .append, .startOver, .startRange, .complete:
            state = .receiving(verdict, answer)
            return .receive(verdict, after: answer.held)
        case .askForWhole(let reason):
            state = .renewing(reason, answer)
            return .renew
        case .retry(let reason, let seconds):
            return end(.retry(reason, afterSeconds: seconds, status: answer.status.code))
        case .refuse(let reason):
            state = .ended(answer.plan)
            return .refuse(reason, isRepeated: avoidsRange?.code == reason.code)
        }
    }

    /// Records that the body of a response is used.
    ///
    /// - Parameter anew: Whether the body replaces the stored bytes.
    /// - Returns: Whether that is allowed; false if it happened too often.
    private mutating func began(anew: Bool) -> Bool {
        // The restart has been counted when the whole file was requested.
        defer { avoidsRange = nil }
        if anew { ranges.startedOver() }
        return !anew || avoidsRange != nil || budget.restarted()
    }

    /// Learns from a body which ranges the server sends.
    mutating func learned(_ outcome: RequestOutcome, _ verdict: Verdict, _ answer: Answer) -> RequestOutcome {
        guard case .body(let received, let failure) = outcome, verdict.usesBody else { return outcome }
        if case .range = answer.plan, let count = answer.count {
            ranges.sent(count)
        } else if received == 0 {
            ranges.endedInPrefix(isConditional: answer.plan.hasIfRange)
        }
        return verdict.sendsAgain ? .body(received: max(received - furthest, 0), failure: failure) : outcome
    }

    /// Decides what follows a request: another one, a wait, or the end.
    package mutating func next(after outcome: RequestOutcome, at moment: RetryBudget.Moment) -> RetryBudget.Action {
        switch outcome {
        case .body(let received, let failure):
            if received > 0 { (failedRanges, unused) = (0, 0) }
            // The remaining bytes were not part of the request.
            if received > 0, failure == nil {
                budget.add(received, of: moment.total)
                return received < Self.small ? .wait(RetryBudget.pause) : .askAgain
            }
            return budget.failed(received: received, at: moment)
        case .discard, .wentBack: return start(avoidingRange: nil)
        case .askAgain:
            unused += 1
            return unused <= Self.mostUnused ? .askAgain : budget.failed(received: 0, at: moment)
        case .askForWhole(let reason): return ranges.refused() ? start(avoidingRange: reason) : .askAgain
        case .retry(_, let seconds, let status):
            // An overloaded server fails at every request; one that cannot serve ranges responds with 500 to those.
            if status == 500, case .range? = state.plan { failedRanges += 1 }
            if failedRanges >= 2, avoidsRange == nil, start(avoidingRange: .rangeFailsRepeatedly) == .unstable {
                return .unstable
            }
            return budget.failed(received: 0, retryAfter: seconds, at: moment)
        case .crowded, .closed: return .askAgain
        }
    }

    private mutating func start(avoidingRange reason: Reason?) -> RetryBudget.Action {
        avoidsRange = reason
        return budget.restarted() ? .askAgain : .unstable
    }
}

extension DownloadMachine.Stored {
    fileprivate var needsSamples: Bool { if case .samples = proof { true } else { false } }

    /// Whether samples must agree, and the bytes are from another URL or under a digest, not those of another program.
    fileprivate var isOwn: Bool { if case .samples(isAdopted: false, _) = proof { true } else { false } }
}
