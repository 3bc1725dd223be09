internal import HTTPTypes
internal import ResumeHTTP

/// The requests of one fetch over an open transfer, made with the caller's client, until every byte is there.
struct FetchRun<Partial: PartialTransfer> {
    let transfer: Partial
    /// How many bytes there may be at most.
    let limit: Int64
    /// On which terms it is continued.
    let policy: ResumePolicy
    private var course: RequestCourse

    init(_ transfer: Partial, policy: ResumePolicy, limit: Int64, retries: RetryBudget.Limits) {
        self.transfer = transfer
        self.policy = policy
        self.limit = limit
        course = RequestCourse(retries)
    }

    /// Asks until every byte is there, and hands it over.
    ///
    /// - Parameters:
    ///   - send: Makes a request.
    ///   - finish: Hands over; where it says that held bytes differ, they are asked for again.
    /// - Returns: What `finish` returned.
    /// - Throws: ``FetchError``, ``StoreError``, what `send` and its body threw last, `CancellationError`.
    mutating func run<Body: AsyncSequence, Result>(
        _ send: (HTTPFields) async throws -> (HTTPResponse, Body), finish: (Partial) async throws -> Result
    ) async throws -> Result where Body.Element: Sequence<UInt8> {
        while true {
            while await !transfer.isComplete {
                try Task.checkCancellation()
                try await turn(send)
            }
            do {
                return try await finish(transfer)
            } catch let error as StoreError where error.code == .heldBytesDiffer {
                try await follow(.discarded, failure: error)
            }
        }
    }

    /// One request, and what follows from it.
    private mutating func turn<Body: AsyncSequence>(
        _ send: (HTTPFields) async throws -> (HTTPResponse, Body)
    ) async throws where Body.Element: Sequence<UInt8> {
        // HEAD is not asked of the caller's client; `If-Range` says as much.
        let plan = await transfer.plan(avoidsRange: course.avoidsRange).conditional
        let before = await transfer.partial
        guard try await agrees(before: plan, held: before, send) else { return }
        let (response, body): (HTTPResponse, Body)
        do {
            (response, body) = try await send(plan.fields)
        } catch {
            return try await follow(.body(received: 0, failed: true), failure: error)
        }
        let verdict = try await transfer.receive(response, to: plan)
        let status = response.status.code
        switch verdict {
        case .append(let continuation):
            _ = course.began(anew: false)
            try await read(body, from: continuation.firstPosition, held: before.length)
        case .startOver(_, let reason):
            try begun(because: reason, after: before)
            try await read(body, from: 0, held: 0)
        case .startRange(let continuation):
            try begun(because: continuation.reason, after: before)
            try await read(body, from: continuation.firstPosition, held: 0)
        case .complete: break
        case .askForWhole(let reason):
            try await follow(.askForWhole(reason), failure: FetchError(reason, status: status))
        case .retry(let reason, let seconds):
            let isRange = if case .range = plan { status == 500 } else { false }
            let failure = FetchError(reason, status: status)
            try await follow(.retry(afterSeconds: seconds, failedRange: isRange), failure: failure)
        case .refuse(let reason):
            throw FetchError(reason, status: status)
        }
    }

    private mutating func begun(because reason: Reason, after before: HeldPartial) throws {
        guard course.began(anew: !before.isEmpty) else { throw FetchError(.unstable(reason)) }
    }

    /// Moves a body into the transfer.
    ///
    /// - Parameters:
    ///   - body: Its parts.
    ///   - start: Where its first byte lies.
    ///   - held: How many bytes are held before it.
    /// - Throws: What it was cut with, after the last try.
    private mutating func read<Body: AsyncSequence>(
        _ body: Body, from start: Int64, held: Int64
    ) async throws where Body.Element: Sequence<UInt8> {
        var failure: (any Error)?
        do {
            if let total = await transfer.partial.totalLength, total > limit {
                throw StoreError.tooLarge(total, limit: limit)
            }
            try await move(body, from: start)
        } catch let error as StoreError where error.code == .heldBytesDiffer {
            try await transfer.discard(reason: .heldBytesDiffer(error))
            return try await follow(.discarded, failure: error)
        } catch {
            failure = error
        }
        // A stream of Swift's own just ends when its reader is cancelled: that is no end of the body.
        let isCut = failure != nil || Task.isCancelled
        let isComplete = try await transfer.endBody(isCut ? .cut : .whole)
        if let error = failure as? StoreError, error.code != .surplusBytes { throw error }
        if isComplete { return }
        if Task.isCancelled { throw CancellationError() }
        let received = max(await transfer.partial.length - held, 0)
        try await follow(
            .body(received: received, failed: failure != nil), failure: failure ?? FetchError(.endedEarly))
    }

    private func move<Body: AsyncSequence>(
        _ body: Body, from start: Int64
    ) async throws where Body.Element: Sequence<UInt8> {
        var position = start
        for try await part in body {
            let bytes = Array(part)
            try await transfer.write(bytes)
            // The rest need not be read.
            if transfer.hasAllWanted { return }
            position = position.addingSaturating(Int64(bytes.count))
            if position > limit { throw StoreError.tooLarge(receiving: position, limit: limit) }
        }
    }

    /// Waits, or gives up with what went wrong last.
    mutating func follow(_ outcome: RequestCourse.Outcome, failure: any Error) async throws {
        if failure is CancellationError || Task.isCancelled { throw CancellationError() }
        switch course.next(after: outcome, jitter: Double.random(in: 0...1)) {
        case .askAgain: return
        case .wait(let seconds): try await Task.sleep(for: .seconds(seconds))
        case .giveUp: throw failure
        case .unstable:
            let reason = (failure as? FetchError)?.reason ?? (failure as? StoreError).map(Reason.heldBytesDiffer)
            throw FetchError(.unstable(reason ?? .endedEarly))
        }
    }
}
