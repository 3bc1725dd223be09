import ResumeFiles
import ResumeHTTP

/// Waits for the origin, which all downloads of a run share, and between requests.
extension RequestLoop {
    /// The turn of a request at an origin.
    struct Turn {
        let origin: String
        let number: OriginPace.Turn
        /// Whether the request has ended.
        var isOver = false
    }

    /// Waits until a request may be sent.
    mutating func takeTurn() async throws -> Turn {
        while true {
            let origin = await transfer.origin
            if let turn = client.firstTurn {
                return Turn(origin: origin, number: origins.with(origin) { $0.join(again: turn) })
            }
            try Task.checkCancellation()
            let now = clock.now()
            switch origins.with(origin, { $0.enter(at: now) }) {
            case .go(let number): return Turn(origin: origin, number: number)
            case .closed(let time): try await wait(for: origin, until: time)
            case .full:
                client.retries(after: .zero, because: ResponseFailure(.noFurtherConnection(origin)))
                let (clock, origins) = (clock, origins)
                // Whoever has the place at the origin may wait for this room.
                await transfer.leaveRoom()
                try await pausing(until: now) { try await clock.look { origins.with(origin) { $0.isOpen } } }
            }
        }
    }

    /// Waits as long as an origin asks for, unless that is too long.
    mutating func wait(for origin: String, until time: Duration) async throws {
        let now = clock.now()
        let url = await transfer.caller.url.redacted
        let failure = ResponseFailure(.waitRequested(origin), afterSeconds: max((time - now).components.seconds, 1))
        if origins.with(origin, { $0.isClosed(at: now, beyond: longestWait) }) {
            origins.with(url) { $0.close(until: time) }
            throw await client.exhausted(because: failure)
        }
        client.retries(after: time - now, because: failure)
        try await pause(until: time)
    }

    /// Waits; the download gives its place to others if that takes long.
    mutating func pause(until time: Duration) async throws {
        guard time - clock.now() >= .seconds(1) else { return try await clock.sleep(time) }
        let clock = clock
        try await pausing(until: time) { try await clock.sleep(time) }
    }

    /// Waits without a place among the running downloads, and without room for what is missing: whoever has the one may
    /// wait for the other.
    private mutating func pausing(until time: Duration, _ wait: () async throws -> Void) async throws {
        let transfer = transfer
        try await client.pausing {
            try await wait()
            // Not before: until then, a download that would fit alone waits for this room instead of being refused.
            await transfer.leaveRoom()
        }
        // What it waits for a place is no time of failures.
        machine.budget.leaveOut(clock.now() - time)
    }

    /// Whether a refusal, or a request without a response, may be due to the requests of other downloads.
    ///
    /// The number of times is limited, since a single URL may fail whatever else runs.
    ///
    /// - Parameters:
    ///   - turn: The request; nil if it had no turn.
    ///   - status: The status; nil if there was no response.
    /// - Returns: Whether to wait until one of them ends, without counting a failure.
    /// - Throws: `CancellationError`, while it waits for the answers to other requests.
    mutating func giveWay(to turn: Turn?, because status: Int? = nil) async throws -> Bool {
        let isFinal = status == 403 || status == 416
        guard timesYielded < (isFinal ? 1 : 3), !isFinal || !client.renews else { return false }
        let origin = if let turn { turn.origin } else { await transfer.origin }
        let latest = clock.now() + .seconds(30)
        var isCrowded: Bool?
        // The other downloads may wait for its room.
        await transfer.leaveRoom()
        try await clock.look {
            isCrowded = origins.with(origin) { $0.refuse(turn?.number) }
            return isCrowded != nil || clock.now() >= latest
        }
        guard isCrowded == true else { return false }
        timesYielded += 1
        return true
    }

    /// Asks the machine what follows, and carries it out: continues at once or after a delay, or gives up.
    mutating func decide(after outcome: RequestOutcome, because failure: any Error) async throws {
        if failure is CancellationError || Task.isCancelled { throw CancellationError() }
        let (origin, total) = await (transfer.origin, transfer.partial.totalLength)
        let now = clock.now()
        let isUnreachable = client.noResponse(failure) == .unreachable
        // What others receive says nothing about a URL that the server answers with an error.
        let originWorks = (failure as? ResponseFailure)?.status == nil && origins.with(origin) { $0.works }
        let moment = RetryBudget.Moment(
            now: now, total: total, originWorks: originWorks, jitter: Double.random(in: 0...1))
        let isGivenUp = isUnreachable && origins.with(origin) { $0.isGivenUp }
        let action = isGivenUp ? .giveUp : machine.next(after: outcome, at: moment)
        let delay: Duration? = if case .wait(let delay) = action { delay } else { nil }
        origins.with(origin) { pace in
            if machine.budget.hasProgressed { pace.works = true }
            if let delay, isUnreachable { pace.failedToConnect(until: now + delay) }
            if action == .giveUp, isUnreachable { pace.isGivenUp = true }
        }
        if let asked = (failure as? ResponseFailure)?.afterSeconds {
            // Other downloads wait or end as well, instead of asking.
            for place in [pausedOrigin, await transfer.caller.url.redacted] {
                if let place { origins.with(place) { $0.close(until: now + (delay ?? .seconds(asked))) } }
            }
        }
        switch action {
        case .wait(let delay):
            if case .body(1..., nil) = outcome {} else { client.retries(after: delay, because: failure) }
            try await pause(until: now + delay)
        case .giveUp: throw await client.exhausted(because: failure)
        case .unstable: throw DownloadError.unstable(outcome.reason ?? .endedEarly)
        case .askAgain: break
        }
    }
}

extension StoreClock {
    /// Looks again and again until other downloads have changed what is known of an origin.
    fileprivate func look(until isReached: () -> Bool) async throws {
        while !isReached() { try await sleep(now() + .milliseconds(50)) }
    }
}
