import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Handling what the streams report.
extension SegmentedBody {
    private static let mostTooLate = 8

    mutating func take(_ report: Report) async {
        switch report {
        case .tick:
            // Not repeated once cancelled, since the sleep would then return at once.
            if !isStopping, !Task.isCancelled { waitForTick() }
        case .ended(let id, let ended):
            outcome.bytes += ended.bytes
            guard let (segment, _, start, isClosed) = running.removeValue(forKey: id) else { return }
            if id == 0 { outcome.first = ended.ending }
            if let error = ended.failure {
                bodyFailed(with: error, received: segment.recorded - start, isClosed)
            } else if segment.held == start, start < segment.end {
                // The response had no body, and the next one may not have one either, so this counts as a failure.
                failed(because: .endedEarly, received: 0)
            } else {
                outcome.interruption = nil
            }
        case .responded(let id, let result):
            guard let question = asked.removeValue(forKey: id) else { return }
            switch result {
            case .success(let (response, verdict)):
                await follow(verdict, of: response, splitting: question.splitting, as: id)
            // A permanent error is reported by the single stream that follows, and an invalid response to a range
            // request would be repeated.
            case .failure(let error as TransportError)
            where error.isTransient && ![.notConnected, .invalidResponse].contains(error.code):
                failed(because: .transport(error), received: 0)
            case .failure(let error):
                await refused(because: Reason(for: error))
            }
        }
    }

    private mutating func follow(
        _ verdict: SegmentVerdict, of response: FetchResponse<any ResponseBody>, splitting: Int?, as id: Int
    ) async {
        let request = run.request
        do {
            switch verdict {
            case .use(let continuation):
                let splitting = splitting.flatMap { running[$0]?.segment }
                guard !isStopping, let segment = try await transfer.open(continuation, splitting: splitting) else {
                    tooLate += 1
                    if tooLate > Self.mostTooLate { refuse() }
                    break
                }
                tooLate = 0
                let pump = BodyPump(body: response.body, request: request)
                return begin(pump, into: segment, as: id)
            case .noMore(let reason):
                if let seconds = ResponseTiming(response.head).afterSeconds {
                    let origin = (response.url ?? request.url).origin
                    request.origins?.close(origin, asAskedBy: response.head, on: request.waitClock)
                    plan.wait(until: now + Double(seconds))
                }
                await refused(because: reason)
            case .stop(let reason):
                outcome.connections = 1
                try await transfer.note(reason)
                isStopping = true
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
    private mutating func bodyFailed(with error: any Error, received: Int64, _ isClosed: Bool) {
        let isFinal = (error as? StoreError).map { $0.code != .surplusBytes }
        if isFinal ?? (!isStopping && (error is DownloadError || error is CancellationError)) {
            fail(with: error)
        } else if !isClosed {
            failed(because: Reason(for: error), received: received)
        }
    }

    private mutating func fail(with error: any Error) {
        outcome.failure = outcome.failure ?? error
        isStopping = true
    }

    /// Handles a temporary failure of a stream.
    private mutating func failed(because reason: Reason, received: Int64) {
        guard !isStopping else { return }
        outcome.interruption = reason
        // If nothing else runs, the single stream that follows counts the failure.
        guard isBusy else { return isStopping = true }
        let moment = RetryBudget.Moment(
            now: run.request.waitClock.now(), total: terms.length, jitter: .random(in: 0...1))
        if case .wait(let delay) = outcome.budget.failed(received: received, at: moment) {
            plan.wait(until: now + delay / .seconds(1))
        } else {
            refuse()
        }
    }
}
