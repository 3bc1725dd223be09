internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore
internal import TestSupport

/// What happens next in a history.
struct Step: Sendable, CustomStringConvertible {
    /// What is done.
    enum Action: Sendable {
        /// A download with the engine.
        case download
        /// The same, with its bytes read while they are received.
        case stream
        /// Downloads of both callers at once.
        case both
        /// A collection with a limit in bytes.
        case collect(Int64)
        /// The server gets another version of a file.
        case change(String)
        /// `/latest.zip` leads to another file.
        case moveLatest
        /// The store is closed and opened again.
        case reopen
    }

    /// How a download ends before its own end.
    enum Ending: Sendable {
        case none
        /// The task is cancelled after a number of steps of the network.
        case cancel(Int)
        /// The process is killed then.
        case kill(Int)
        /// The process is killed at a point between two steps of the store.
        case killPoint(KillPoint, Int)
    }

    /// Whether a caller names a digest.
    enum DigestChoice: Sendable { case none, right, wrong }

    var action: Action
    var ending = Ending.none
    var caller = 0
    var path = "/a.zip"
    /// Whether the caller gives one key to all files.
    var hasKey = false
    var digest = DigestChoice.none
    var allowsUnvalidated = false
    var restarts = false
    var condition = ResumePolicy.Condition.ifRange

    init(_ chance: inout SplitMix64) {
        action =
            switch Int.random(in: 0..<100, using: &chance) {
            case ..<62: .download
            case ..<70: .stream
            case ..<77: .both
            case ..<82: .collect(chance.pick([0, 1000, 50_000]))
            case ..<92: .change(chance.pick(["/a.zip", "/b.zip"]))
            case ..<96: .moveLatest
            default: .reopen
            }
        let steps = Int.random(in: 0...8, using: &chance)
        ending =
            switch Int.random(in: 0..<100, using: &chance) {
            case ..<20: .cancel(steps)
            case ..<35: .kill(steps)
            case ..<45: .killPoint(chance.pick(KillPoint.allCases), Int.random(in: 1...3, using: &chance))
            default: .none
            }
        caller = chance.happens(35) ? 1 : 0
        path = chance.pick(["/a.zip", "/a.zip", "/a.zip", "/b.zip", "/latest.zip"])
        hasKey = chance.happens(25)
        digest = chance.happens(25) ? (chance.happens(60) ? .right : .wrong) : .none
        allowsUnvalidated = chance.happens(15)
        restarts = chance.happens(4)
        condition = chance.happens(80) ? .ifRange : chance.pick(ResumePolicy.Condition.allCases)
    }

    var description: String {
        let options = [
            hasKey ? "key" : "", digest == .none ? "" : "digest \(digest)", allowsUnvalidated ? "unvalidated" : "",
            restarts ? "restart" : "", condition == .ifRange ? "" : condition.rawValue,
        ].filter { !$0.isEmpty }
        return "\(action) by \(caller) of \(path) \(options.joined(separator: ", ")) ending \(ending)"
    }
}
