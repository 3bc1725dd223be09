#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeDownload
internal import ResumeFiles
internal import Synchronization

/// The rate limits of a run, which change with the time of day, and by `resumectl set`.
final class RateControl: Sendable {
    private struct State {
        var total: RatePlan?
        /// The limit of each running download, if it depends on the time of day.
        var limiters: [Int64: RateLimiter] = [:]
        /// The status of the file with the limit when it was read last, which differs for each new file.
        var seen: FileStatus?
    }

    private let each: RatePlan?
    private let overall: RateLimiter
    /// The file that `resumectl set` writes.
    private let path: String
    private let state: Mutex<State>

    /// Makes limits, of which those that were set before do not count.
    ///
    /// - Parameters:
    ///   - each: The limit of each download.
    ///   - total: The limit of all downloads together.
    ///   - store: The path of the store.
    init(each: RatePlan?, total: RatePlan?, store: String) {
        // A constant one belongs to the request, and is recorded with its job.
        self.each = each?.constant == nil ? each : nil
        path = Self.path(in: store)
        overall = RateLimiter(bytesPerSecond: total?.rate(at: Self.minute))
        state = Mutex(State(total: total, seen: Self.status(of: path)))
    }

    /// Returns the path of the file with the limit that was set last.
    static func path(in store: String) -> String { "\(store)/limit-rate" }

    /// What is in that file if there is no limit.
    static let none = "none"

    /// Returns the limits of a download.
    func limiters(for number: Int64) -> [RateLimiter] {
        guard let each else { return [overall] }
        let own = RateLimiter(bytesPerSecond: each.rate(at: Self.minute))
        state.withLock { $0.limiters[number] = own }
        return [overall, own]
    }

    /// Records that a download has ended.
    func ended(_ number: Int64) {
        if each != nil { state.withLock { _ = $0.limiters.removeValue(forKey: number) } }
    }

    /// Applies changes once a second, until the task is cancelled.
    func watch() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { update() }
    }

    private func update() {
        let minute = Self.minute
        state.withLock { state in
            let status = Self.status(of: path)
            if status != state.seen {
                state.seen = status
                let text = FileManager.default.contents(atPath: path).map {
                    String(decoding: $0.prefix(1024), as: UTF8.self)
                }
                // Something else in the file changes nothing.
                if text == Self.none {
                    state.total = nil
                } else {
                    state.total = text.flatMap(RatePlan.init) ?? state.total
                }
            }
            overall.setRate(state.total?.rate(at: minute))
            for limiter in state.limiters.values { limiter.setRate(each?.rate(at: minute)) }
        }
    }

    private static func status(of path: String) -> FileStatus? { try? OpenFile(path, flags: O_RDONLY).status() }

    /// Minutes since midnight, local time.
    private static var minute: Int {
        var now = time(nil)
        var local = unsafe tm()
        guard unsafe localtime_r(&now, &local) != nil else { return 0 }
        return unsafe Int(local.tm_hour) * 60 + Int(local.tm_min)
    }
}
