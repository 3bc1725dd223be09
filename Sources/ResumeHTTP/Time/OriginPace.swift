/// What the downloads of a run have learned about an origin: whether it works, when it may be asked again, and how many
/// of them it serves at a time.
///
/// A value without a clock: times are durations on a clock that stands still while the machine sleeps.
package struct OriginPace: Sendable {
    /// Identifies a download while it has a request at the origin.
    package typealias Turn = Int

    /// What a download does before its next request.
    package enum Entry: Sendable, Hashable {
        /// Send the request, and report its end with `leave`.
        case go(Turn)
        /// Wait until a time: the server asks for that.
        case closed(until: Duration)
        /// Wait until another download leaves: the origin serves no more at a time.
        case full
    }

    /// What is known of a request.
    private enum Answer { case pending, served, refused }

    /// Whether one of its downloads has made progress.
    package var works = false
    /// The end of the wait that the server requested.
    private var closedUntil = Duration.zero
    /// Whether a download has given up since there is no connection, so that others try only once.
    package var isGivenUp = false
    /// When downloads that have not begun may try an origin that refuses connections.
    private var unreachableUntil = Duration.zero
    /// Why ranges of a file were refused as the plain file was, so that others are not requested in another way.
    package var refusals: Set<Reason.Code> = []
    private var lastTurn = 0
    /// The downloads that have a request at the origin.
    private var busy: [Turn: Answer] = [:]
    /// The download that was served and left last, and the last one that had a request then.
    private var lastServed: (turn: Turn, beside: Turn)?
    /// How many may have a request; nil for any number.
    private var most: Int?

    /// Knows nothing yet.
    package init() {}

    /// Records that the server asks to wait until a time, which holds for all downloads.
    package mutating func close(until time: Duration) { closedUntil = max(closedUntil, time) }

    /// Records that there is no connection; the download that has found this tries again at a time.
    package mutating func failedToConnect(until time: Duration) { unreachableUntil = max(unreachableUntil, time) }

    /// The end of the wait that the server requested; nil if it is over.
    package func closure(at now: Duration) -> Duration? { closedUntil > now ? closedUntil : nil }

    /// Decides whether a download may send a request.
    package mutating func enter(at now: Duration) -> Entry {
        if let time = closure(at: now) { return .closed(until: time) }
        return isOpen ? .go(join()) : .full
    }

    /// Records a request, which may have had a turn before.
    package mutating func join(again earlier: Turn? = nil) -> Turn {
        let turn = earlier ?? lastTurn + 1
        lastTurn = max(lastTurn, turn)
        busy[turn] = .pending
        return turn
    }

    /// When downloads that have not begun may begin, unless the origin serves others only.
    package var opensAt: Duration { max(closedUntil, unreachableUntil) }

    /// Whether the origin serves a further download.
    package var isOpen: Bool { busy.count < most ?? .max }

    /// Whether it has no download that knows it.
    package var isIdle: Bool { busy.isEmpty }

    /// Whether the server asks to wait longer than is permitted.
    package func isClosed(at now: Duration, beyond patience: Duration) -> Bool {
        // The random addition does not count.
        closedUntil - now > RetryBudget.lengthened(patience, 1)
    }

    /// Whether a download that has not begun may begin; one that would have to wait too long ends at once.
    package func mayBegin(at now: Duration, patience: Duration) -> Bool {
        isClosed(at: now, beyond: patience) || opensAt <= now && isOpen
    }

    /// Records that the server sends the file.
    package mutating func serves(_ turn: Turn) {
        busy[turn] = .served
        unreachableUntil = .zero
        isGivenUp = false
    }

    /// Records the end of a request.
    package mutating func leave(_ turn: Turn) {
        if busy.removeValue(forKey: turn) == .served { lastServed = (turn, beside: lastTurn) }
    }

    /// Records that a request was refused or got no answer.
    ///
    /// - Parameter turn: The request, which may just have been left; nil if it had no turn.
    /// - Returns: Whether the reason may be the requests of others. Then no more than those are sent at a time. If
    ///   nothing else was being served, the reason is another one, and earlier limits are lifted. Nil as long as other
    ///   requests have no answer yet, which decides.
    package mutating func refuse(_ turn: Turn?) -> Bool? {
        if let turn, busy[turn] == .pending { busy[turn] = .refused }
        let answers = busy.filter { $0.key != turn }.values
        var others = answers.count { $0 == .served }
        // The other may have ended while the refusal was on its way.
        if others == 0, let turn, let last = lastServed, last.turn != turn, turn <= last.beside { others = 1 }
        if others == 0, answers.contains(.pending) { return nil }
        most = others > 0 ? others : nil
        return others > 0
    }
}
