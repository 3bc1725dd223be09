import HTTPTypes
@testable import ResumeHTTP
import TestSupport
import Testing

/// What a download does next.
@Suite(.timeLimit(.minutes(5)))
struct DownloadMachineTests {
    static let limits = RetryPolicy(
        retries: 2, time: .seconds(60), firstDelay: .seconds(1), longestDelay: .seconds(1), restarts: 1)
    /// A file without a known length, and the longest random part of each wait.
    static let now = RetryBudget.Moment(now: .zero, jitter: 1)

    // MARK: What follows a request

    /// A machine that has planned a request for a range, as far as its state says.
    struct Requests {
        var machine = DownloadMachine(limits)

        init() { plan() }

        mutating func plan() {
            let held = Fixture.tagged
            let stored = DownloadMachine.Stored(held, in: [], provedBy: .representation, policy: ResumePolicy())
            _ = machine.handle(.goOn)
            _ = machine.handle(.planned(Plan(for: held), stored))
        }

        /// What follows the end of the planned request.
        mutating func next(_ outcome: RequestOutcome, at moment: RetryBudget.Moment = now) -> RetryBudget.Action {
            defer { plan() }
            return machine.next(after: outcome, at: moment)
        }

        /// What follows a response with the whole file, which replaces the stored bytes.
        mutating func replace() -> String {
            let verdict = Verdict.startOver(Representation(), .restartRequested)
            let answer = DownloadMachine.Response(
                to: .whole(reason: nil), response(200), after: Fixture.tagged, refusals: [])
            _ = machine.handle(.evaluated(.judged(verdict), answer))
            defer { plan() }
            return machine.handle(.prepared(after: .zero)).summary
        }
    }

    @Test("A cut waits, progress restores the retries, and a complete part is followed by the next one")
    func bodies() {
        var requests = Requests()
        let cut = ModelDownload.Cut()
        #expect(requests.next(.body(received: 1, failure: nil)) == .wait(.milliseconds(15)))
        for _ in 0..<2 { #expect(requests.next(.body(received: 0, failure: cut)) == .wait(.seconds(1))) }
        #expect(requests.next(.body(received: 0, failure: nil)) == .giveUp)
        #expect(requests.next(.body(received: 1, failure: cut)) == .giveUp)
        #expect(requests.next(.body(received: 70_000, failure: nil)) == .askAgain)
        for _ in 0..<3 { #expect(requests.next(.body(received: 0, failure: cut)) == .wait(.seconds(1))) }
        var late = Self.now
        late.now = .seconds(60)
        #expect(requests.next(.body(received: 0, failure: cut), at: late) == .giveUp)
    }

    @Test("A server that fails at ranges twice is asked for the whole file, which counts as a restart")
    func failedRanges() {
        var requests = Requests()
        let first = requests.machine.next(after: .retry(.endedEarly, afterSeconds: 7, status: 500), at: Self.now)
        #expect(first == .wait(.milliseconds(7700)))
        #expect(requests.machine.handle(.goOn).summary == "plan")
        requests.plan()
        #expect(requests.machine.next(after: .retry(.endedEarly, status: 500), at: Self.now) == .wait(.seconds(1)))
        #expect(requests.machine.handle(.goOn).summary == "plan: range-fails-repeatedly")
        requests.plan()
        #expect(requests.replace() == "receive", "it was counted before")
        #expect(requests.replace() == "fail: restart-requested")
    }

    @Test("A failure with another status, or of a request without a range, does not count against ranges")
    func otherFailures() {
        var requests = Requests()
        for _ in 0..<2 { _ = requests.next(.retry(.endedEarly, status: 503)) }
        #expect(requests.machine.handle(.goOn).summary == "plan")
        // Nothing is planned yet.
        for _ in 0..<2 { _ = requests.machine.next(after: .retry(.endedEarly, status: 500), at: Self.now) }
        #expect(requests.machine.handle(.goOn).summary == "plan")
    }

    @Test("A server that fails at ranges after the last restart is reported as unstable")
    func failedRangesWithoutStarts() {
        var requests = Requests()
        #expect(requests.replace() == "receive")
        #expect(requests.next(.retry(.endedEarly, status: 500)) == .wait(.seconds(1)))
        #expect(requests.next(.retry(.endedEarly, status: 500)) == .unstable)
    }

    @Test("Responses that are not used are failures after the 24th in a row")
    func unused() {
        var requests = Requests()
        for _ in 0..<2 {
            for _ in 0..<24 { #expect(requests.next(.askAgain) == .askAgain) }
            #expect(requests.next(.askAgain) == .wait(.seconds(1)))
            #expect(requests.next(.body(received: 70_000, failure: nil)) == .askAgain)
        }
        for _ in 0..<26 { _ = requests.next(.askAgain) }
        #expect(requests.next(.askAgain, at: RetryBudget.Moment(now: .seconds(60), jitter: 1)) == .giveUp)
    }

    @Test("Closed ranges without new bytes become smaller by half, or end")
    func halves() {
        var course = RangeCourse()
        var count = Int64.max
        var requests = 0
        while course.sentNothingNew(count) {
            requests += 1
            count = (course.size ?? 0) - 1
            let isAccepted = course.sentNothingNew(count)
            #expect(!isAccepted)
            count = (course.size ?? 0) / 2
        }
        #expect(requests == 28)
    }

    @Test("One restart is allowed, whatever its reason")
    func starts() {
        let reason = Reason.rangeFailsRepeatedly
        for first in [RequestOutcome.discard(reason), .wentBack, .askForWhole(reason)] {
            var requests = Requests()
            #expect(requests.next(first) == .askAgain)
            #expect(requests.next(.discard(reason)) == .unstable)
        }
        var requests = Requests()
        #expect(requests.replace() == "receive")
        #expect(requests.next(.askForWhole(reason)) == .unstable)
    }

    // MARK: Responses

    /// What a machine does after the request of a plan was answered, and the transfer was prepared.
    static func actions(_ evaluation: Evaluation, refusals: Set<Reason.Code> = [], held: HeldPartial = Fixture.tagged)
        -> [String]
    {
        var requests = Requests()
        let answer = DownloadMachine.Response(to: Plan(for: held), response(206), after: held, refusals: refusals)
        let action = requests.machine.handle(.evaluated(evaluation, answer))
        guard case .prepare = action else { return [action.summary] }
        return [action.summary, requests.machine.handle(.prepared(after: .zero)).summary]
    }

    @Test("What is no verdict ends the request, and so does a verdict without a body")
    func evaluations() {
        let reason = Reason.preconditionFailed
        #expect(Self.actions(.omitsCondition) == ["end: askAgain"])
        #expect(Self.actions(.compareSamples(reason)) == ["end: askAgain"])
        #expect(Self.actions(.requestWhole(reason)) == ["end: askForWhole"])
        #expect(Self.actions(.wentBack) == ["end: wentBack"])
        #expect(Self.actions(.judged(.retry(reason))) == ["prepare", "end: retry"])
        #expect(Self.actions(.judged(.complete(Representation(), reason))) == ["prepare", "receive"])
        #expect(Self.actions(.judged(.askForWhole(reason))) == ["prepare", "renew"])
        #expect(Self.actions(.judged(.refuse(reason))) == ["prepare", "refuse: precondition-failed"])
    }

    @Test("A range is refused if the origin has refused the whole of another file for the same reason")
    func refusals() {
        let reason = Reason.preconditionFailed
        let refused = ["prepare", "refuse: precondition-failed"]
        #expect(Self.actions(.judged(.askForWhole(reason)), refusals: [reason.code]) == refused)
        #expect(
            Self.actions(.judged(.askForWhole(reason)), refusals: [Reason.noProgress.code]) == ["prepare", "renew"])
    }

    @Test("The whole file that is refused for the reason for which its range was is refused again")
    func repeatedRefusal() {
        let reason = Reason.preconditionFailed
        for isRepeated in [true, false] {
            var requests = Requests()
            #expect(requests.next(.askForWhole(isRepeated ? reason : .noProgress)) == .askAgain)
            let answer = DownloadMachine.Response(
                to: .whole(reason: reason), response(412), after: Fixture.tagged, refusals: [])
            _ = requests.machine.handle(.evaluated(.judged(.refuse(reason)), answer))
            guard case .refuse(_, isRepeated) = requests.machine.handle(.prepared(after: .zero)) else {
                Issue.record("isRepeated: \(isRepeated)")
                return
            }
        }
    }

    @Test(
        "Bytes that come again are progress only beyond those that were received before", arguments: [60_000, 120_000])
    func sentAgain(received: Int64) {
        var requests = Requests()
        var use = Verdict.Continuation(whole: Representation(), reason: .sentAgain)
        use.offset = 0
        let answer = DownloadMachine.Response(
            to: .whole(reason: nil), response(200), after: Fixture.tagged, refusals: [])
        _ = requests.machine.handle(.evaluated(.judged(.startRange(use)), answer))
        #expect(requests.machine.handle(.prepared(after: .zero)).summary == "receive", "it is no restart")
        let action = requests.machine.handle(.received(.body(received: received, failure: nil)))
        guard case .end(.body(max(received - 100_000, 0), nil), noting: nil, sent: nil) = action else {
            Issue.record("\(action)")
            return
        }
    }

    @Test("The caller's other URL is requested at once, whatever was refused", arguments: [true, false])
    func renewed(isRenewed: Bool) {
        var requests = Requests()
        let answer = DownloadMachine.Response(
            to: Plan(for: Fixture.tagged), response(206, [Fixture.contentRange]), after: Fixture.tagged, refusals: [])
        _ = requests.machine.handle(.evaluated(.judged(.askForWhole(.preconditionFailed)), answer))
        _ = requests.machine.handle(.prepared(after: .zero))
        let action = requests.machine.handle(.renewed(isRenewed))
        #expect(action.summary == (isRenewed ? "end: askAgain" : "end: askForWhole"))
        #expect(requests.machine.ranges.size == nil)
    }

    // MARK: Whole downloads

    /// What a server sends in reply to the first request, before it is honest, and what follows.
    struct Case: Sendable, CustomTestStringConvertible {
        let id: String
        let status: Int
        let lines: [String]
        let requests: [String]
        let end: ModelDownload.End
        /// The entity tag of the honest server's file.
        let tag: String
        /// Whether the first reply is sent to each request.
        let isConstant: Bool

        init(
            _ id: String, _ status: Int, _ lines: [String], _ requests: [String], _ end: ModelDownload.End = .complete,
            tag: String = "\"a\"", isConstant: Bool = false
        ) {
            (self.id, self.status, self.lines, self.requests) = (id, status, lines, requests)
            (self.end, self.tag, self.isConstant) = (end, tag, isConstant)
        }

        var testDescription: String { id }
    }

    static let first = "bytes=95904- if \"a\""
    /// The plain file shows that it is the same one; its body is closed, and a closed range is requested.
    static let closed = [first, "whole", "bytes=95904-249999 if \"a\""]
    private static let tag = "ETag: \"a\""

    @Test(
        "After a first reply of each kind, the download ends with the server's file, or as the table of cases says",
        arguments: [
            Case("B01", 206, [tag, Fixture.contentRange], [first]),
            Case("B02", 206, ["ETag: \"b\"", Fixture.contentRange], [first, "whole"], tag: "\"b\""),
            Case("B03", 206, [Fixture.contentRange], closed),
            Case("B06", 206, [tag, "Content-Range: bytes 95904-249998/249999"], [first, "wait", first]),
            Case("C01", 206, [tag, "Content-Range: bytes 100001-249999/250000"], closed),
            Case("C08", 206, [tag], closed),
            Case(
                "C14", 206, [tag, "Content-Range: bytes 95904-119999/250000"],
                [first, "wait", "bytes=115904- if \"a\""]),
            Case("D01", 200, [tag, "Content-Length: 250000"], [first]),
            Case("D02", 200, ["ETag: \"b\"", "Content-Length: 250000"], [first], tag: "\"b\""),
            Case("E03", 416, ["Content-Range: bytes */250000"], closed),
            Case("E04", 416, [], closed),
            Case("E08", 400, [], closed),
            Case(
                "E09", 416, [], [first, "whole"], .refused("status-416"), isConstant: true),
            Case("E10", 500, [], [first, "wait", first]),
            Case("H: 404 for a range only", 404, [], closed),
            Case("H: 404", 404, [], [first, "whole"], .refused("status-404"), isConstant: true),
            Case("H: 503", 503, ["Retry-After: 5"], [first, "wait", first]),
            Case("H: 503 forever", 503, [], [first, "wait", first, "wait", first], .gaveUp, isConstant: true),
        ])
    func downloads(known: Case) {
        var download = ModelDownload(Fixture.tagged)
        let end = download.run { plan, number in
            let honest = ModelDownload.Reply.honest(plan, tag: known.tag)
            guard number == 0 || known.isConstant else { return honest }
            let count =
                switch known.status {
                case 200: Fixture.total
                case 206: ModelDownload.length(of: known.lines) ?? honest.count
                default: Int64(0)
                }
            return ModelDownload.Reply(head: response(known.status, known.lines), count: count)
        }
        #expect(end == known.end)
        #expect(download.trace == known.requests)
        #expect(download.held.length == (end == .complete ? Fixture.total : Fixture.length))
    }

    // MARK: Histories

    /// One input of each kind.
    static let inputs: [DownloadMachine.Input] = [
        .planned(
            Plan(for: Fixture.tagged),
            DownloadMachine.Stored(Fixture.tagged, in: [], provedBy: .representation, policy: ResumePolicy())),
        .planned(
            .whole(reason: nil),
            DownloadMachine.Stored(
                Fixture.tagged, in: [0..<100_000], provedBy: .samples(isAdopted: false, isMarked: true),
                policy: ResumePolicy())),
        .isComplete, .compared(.agree(samples: 3)), .compared(.differ(.samplesUnanswered)),
        .evaluated(
            .judged(Fixture.judge(206, [tag, Fixture.contentRange])),
            DownloadMachine.Response(
                to: Plan(for: Fixture.tagged), response(206, [Fixture.contentRange]), after: Fixture.tagged,
                refusals: [])),
        .evaluated(
            .judged(.askForWhole(.noProgress)),
            DownloadMachine.Response(to: .whole(reason: nil), response(200), after: Fixture.tagged, refusals: [])),
        .evaluated(
            .wentBack,
            DownloadMachine.Response(to: .whole(reason: nil), response(200), after: Fixture.tagged, refusals: [])),
        .prepared(after: .zero), .renewed(true), .renewed(false), .received(.body(received: 1, failure: nil)),
        .failed(.retry(.noProgress)), .goOn,
    ]

    @Test("Whatever the order of inputs, each action belongs to the state, and what does not belong leads to a plan")
    func shortHistories() {
        var (histories, states) = (0, Set<String>())
        func walk(_ machine: DownloadMachine, _ depth: Int) {
            for input in Self.inputs {
                var next = machine
                let action = next.handle(input)
                histories += 1
                states.insert(next.state.name)
                #expect(action.isOf(next.state), "\(machine.state.name), \(input.name): \(action.summary)")
                if !input.belongs(to: machine.state), input.name != "failed" {
                    #expect(action.summary.hasPrefix("plan"))
                }
                if depth > 1 { walk(next, depth - 1) }
            }
        }
        walk(DownloadMachine(Self.limits), 4)
        let kinds = Self.inputs.count
        #expect(histories == kinds * (1 + kinds * (1 + kinds * (1 + kinds))))
        #expect(states.count == 8, "each state is reached")
    }

    @Test("A server that sends anything leads to the file or to an end, with at most a restart", arguments: 0..<200)
    func randomHistories(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var download = ModelDownload(Fixture.tagged)
        var isHonest = false
        let end = download.run { plan, number in
            isHonest = number > 40
            guard !isHonest, random.next() % 3 > 0 else { return .honest(plan) }
            let honest = ModelDownload.Reply.honest(plan)
            switch random.next() % 8 {
            case 0: return ModelDownload.Reply(head: response(503))
            case 1: return ModelDownload.Reply(head: response(500))
            case 2: return ModelDownload.Reply(head: response(416, ["Content-Range: bytes */250000"]))
            case 3: return ModelDownload.Reply(head: honest.head, count: honest.count / 3, isCut: true)
            case 4: return ModelDownload.Reply(head: honest.head, count: 0)
            case 5: return .honest(plan, tag: "\"b\"")
            case 6: return ModelDownload.Reply(head: response(400))
            default: return .honest(.whole(reason: nil))
            }
        }
        #expect(end != .endless)
        #expect(download.restarts <= Self.limits.restarts)
        if end == .complete { #expect(download.held.length == Fixture.total) }
    }
}

extension DownloadMachine.State {
    var name: String { String(describing: self).prefix { $0 != "(" }.description }
}

extension DownloadMachine.Input {
    var name: String { String(describing: self).prefix { $0 != "(" }.description }

    /// Whether it is what a driver hands over in a state.
    func belongs(to state: DownloadMachine.State) -> Bool {
        switch (state, self) {
        case (.planning, .planned), (.planning, .isComplete), (.comparing, .compared), (.requesting, .evaluated),
            (.preparing, .prepared), (.renewing, .renewed), (.receiving, .received):
            true
        default: false
        }
    }
}

extension DownloadMachine.Action {
    /// The action in one line.
    var summary: String {
        switch self {
        case .plan(let reason): "plan" + (reason.map { ": \($0.code.rawValue)" } ?? "")
        case .receive: "receive"
        case .refuse(let reason, _): "refuse: \(reason.code.rawValue)"
        case .fail(let reason): "fail: \(reason.code.rawValue)"
        case .compare: "compare"
        case .dropMarked: "drop marked"
        case .request: "request"
        case .prepare: "prepare"
        case .renew: "renew"
        case .end(let outcome, _, _): "end: \(String(describing: outcome).prefix { $0 != "(" })"
        case .finish: "finish"
        }
    }

    /// Whether the action is one of a state.
    func isOf(_ state: DownloadMachine.State) -> Bool {
        switch (self, state) {
        case (.plan, .planning), (.compare, .comparing), (.dropMarked, .comparing),
            (.request, .requesting), (.prepare, .preparing), (.fail, .preparing), (.renew, .renewing),
            (.receive, .receiving), (.refuse, .ended), (.end, .ended), (.end, .planning), (.end, .complete),
            (.finish, .complete):
            true
        default: false
        }
    }
}
