import HTTPTypes
@testable import ResumeHTTP

/// A download without I/O: a machine, what is stored, and a server that is a closure.
struct ModelDownload {
    /// What a server sends.
    struct Reply {
        var head: HTTPResponse
        /// The number of bytes of its body.
        var count: Int64 = 0
        /// Whether the body ends early.
        var isCut = false

        /// The head and body of a file's server without faults.
        static func honest(_ plan: Plan, of length: Int64 = Fixture.total, tag: String = "\"a\"") -> Reply {
            guard case .range(let range) = plan else {
                return Reply(
                    head: response(200, ["ETag: \(tag)", "Content-Length: \(length)"]), count: length)
            }
            guard range.start < length else { return Reply(head: response(416, ["Content-Range: bytes */\(length)"])) }
            let end = min(range.end ?? length, length)
            return Reply(
                head: response(206, ["ETag: \(tag)", "Content-Range: bytes \(range.start)-\(end - 1)/\(length)"]),
                count: end - range.start)
        }
    }

    /// How a download ended.
    enum End: Equatable {
        case complete
        case gaveUp
        case unstable
        case refused(String)
        /// The machine did not end it.
        case endless
    }

    var machine: DownloadMachine
    var held: HeldPartial
    var policy = ResumePolicy()
    var proof = DownloadMachine.Stored.Proof.representation
    /// Each request, and each wait.
    private(set) var trace: [String] = []
    /// What was received in all.
    private(set) var received: Int64 = 0
    private(set) var waited: Duration = .zero
    /// How often stored bytes were discarded or replaced.
    private(set) var restarts = 0
    /// The largest number of actions.
    private static let most = 3000

    init(_ held: HeldPartial, _ limits: RetryPolicy = DownloadMachineTests.limits) {
        machine = DownloadMachine(limits)
        self.held = held
    }

    /// Runs the download.
    mutating func run(_ server: (Plan, Int) -> Reply) -> End {
        var action = machine.handle(.goOn)
        var reply: Reply?
        var requests = 0
        for _ in 0..<Self.most {
            var input = DownloadMachine.Input.goOn
            switch action {
            case .plan(let reason):
                let plan = Plan(for: held, policy: policy, avoidsRange: reason)
                let stored = DownloadMachine.Stored(held, in: [0..<held.length], provedBy: proof, policy: policy)
                input = held.isComplete ? .isComplete : .planned(plan, stored)
            case .compare:
                trace.append("compare")
                proof = .representation
                input = .compared(.agree(samples: 1))
            case .dropMarked: held.length = 0
            case .request(let plan):
                trace.append(plan.request)
                let answer = server(plan, requests)
                requests += 1
                reply = answer
                let verdict = Verdict(for: answer.head, to: plan, held: held, policy: policy)
                let evaluated = DownloadMachine.Response(to: plan, answer.head, after: held, refusals: [])
                input = .evaluated(.judged(verdict), evaluated)
            case .prepare(let verdict):
                if verdict.replaces, let representation = verdict.representation {
                    restarts += held.isEmpty ? 0 : 1
                    (held.representation, held.length) = (representation, 0)
                }
                input = .prepared(after: .zero)
            case .renew: input = .renewed(false)
            case .receive(let verdict, let before): input = .received(receive(reply, verdict, after: before))
            case .end(let outcome, _, _):
                if case .discard = outcome { (held.length, restarts) = (0, restarts + 1) }
                let moment = RetryBudget.Moment(now: waited, total: held.totalLength, jitter: 1)
                switch machine.next(after: outcome, at: moment) {
                case .askAgain: break
                case .wait(let time):
                    waited += time
                    trace.append("wait")
                case .giveUp: return .gaveUp
                case .unstable: return .unstable
                }
            case .refuse(let reason, _): return .refused(reason.code.rawValue)
            case .fail: return .unstable
            case .finish: return .complete
            }
            action = machine.handle(input)
        }
        return .endless
    }

    private mutating func receive(_ reply: Reply?, _ verdict: Verdict, after before: HeldPartial) -> RequestOutcome {
        guard let use = verdict.continuation, let reply else {
            if case .complete(let representation, _) = verdict {
                (held.representation, held.access) = (representation, .granted)
            }
            return .body(received: 0, failure: nil)
        }
        received += reply.count
        let start = verdict.replaces ? 0 : before.length
        let end = min(use.bodyStart + max(reply.count - use.skipped, 0), use.bodyEnd ?? .max)
        held.length = max(start, end)
        if held.totalLength == nil, !reply.isCut { held.representation?.completeLength = held.length }
        return .body(received: max(held.length - start, 0), failure: reply.isCut ? Cut() : nil)
    }

    /// The number of bytes in the range that header lines announce; nil if there is none.
    static func length(of lines: [String]) -> Int64? {
        guard case .bytes(let first, let last, _) = ContentRange(in: headerFields(lines)) else { return nil }
        return last - first + 1
    }

    /// The body ended early.
    struct Cut: Error {}
}

extension Plan {
    /// The request in one line.
    var request: String {
        guard case .range = self else { return "whole" }
        return (fields[.range] ?? "") + (fields[.ifRange].map { " if \($0)" } ?? "")
    }
}
