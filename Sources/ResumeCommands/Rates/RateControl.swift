import ResumeDownload
import ResumeFiles
import Synchronization

/// The rate limits of a run, which change with the time of day, and by `resumectl set`.
final class RateControl: Sendable {
    private struct State {
        var total: RatePlan?
        /// The limit of each download that replaces its own one; nil if there is none.
        var each: RatePlan?
        /// The limit of each running download, and what it was started with.
        var downloads: [Int64: (limiter: RateLimiter, usual: Int64?)] = [:]
    }

    private let overall: RateLimiter
    private let state: Mutex<State>
    /// The files that `resumectl set` writes; nil without a store.
    private let files: Mutex<(each: RateFile, total: RateFile)?>

    /// Makes limits, of which those that were set before do not count.
    ///
    /// - Parameters:
    ///   - each: The limit of each download.
    ///   - total: The limit of all downloads together.
    ///   - store: The path of the store; nil if there is none.
    init(each: RatePlan?, total: RatePlan?, store: String?) {
        files = Mutex(store.map { (RateFile(.each, in: $0), RateFile(.total, in: $0)) })
        overall = RateLimiter(bytesPerSecond: total?.rate(at: Self.minute))
        // A constant one belongs to the request, and is recorded with its job.
        state = Mutex(State(total: total, each: each?.constant == nil ? each : nil))
    }

    /// Takes over the limit of a download, which may be changed while it runs.
    func limit(_ request: inout DownloadRequest, _ number: Int64) {
        let usual = request.rateLimit
        request.rateLimit = nil
        let own = state.withLock { state in
            let own = RateLimiter(bytesPerSecond: rate(usual, state, at: Self.minute))
            state.downloads[number] = (own, usual)
            return own
        }
        request.rateLimiters = [overall, own]
    }

    /// Records that a download has ended.
    func ended(_ number: Int64) { state.withLock { _ = $0.downloads.removeValue(forKey: number) } }

    /// Applies changes once a second while a closure runs.
    func watching(_ body: () async throws -> Void) async rethrows {
        let watch = Task {
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                let changes = try? await Blocking.run {
                    self.files.withLock { ($0?.each.changed(), $0?.total.changed()) }
                }
                apply(changes?.0 ?? nil, changes?.1 ?? nil)
            }
        }
        defer { watch.cancel() }
        try await body()
    }

    private func apply(_ each: RatePlan?, _ total: RatePlan?) {
        let minute = Self.minute
        state.withLock { state in
            state.total = total ?? state.total
            state.each = each ?? state.each
            overall.setRate(state.total?.rate(at: minute))
            for download in state.downloads.values { download.limiter.setRate(rate(download.usual, state, at: minute)) }
        }
    }

    /// Returns the limit of a download that was started with one.
    private func rate(_ usual: Int64?, _ state: State, at minute: @autoclosure () -> Int) -> Int64? {
        state.each.map { $0.rate(at: minute()) } ?? usual
    }

    /// Minutes since midnight, local time.
    private static var minute: Int {
        var now = time(nil)
        var local = unsafe tm()
        guard unsafe localtime_r(&now, &local) != nil else { return 0 }
        return unsafe Int(local.tm_hour) * 60 + Int(local.tm_min)
    }
}
