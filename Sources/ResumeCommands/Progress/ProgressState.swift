import ResumeDownload
import ResumeHTTP
import ResumeStore

/// What is known about the downloads of one run: a value that takes events, and is drawn as lines (``lines(in:)``).
struct ProgressState {
    /// A running download.
    struct File {
        enum Phase: Equatable {
            /// No response yet.
            case connecting
            /// Another task or process downloads the same resource.
            case waiting
            case receiving
            case retrying(Reason, at: ContinuousClock.Instant)
            /// All bytes have been received, and are checked and flushed to disk.
            case saving
            /// The file is delivered, and the program of --on-complete runs.
            case completing
        }

        let name: String
        var phase = Phase.connecting
        var received: Int64 = 0
        var total: Int64?
        /// The bytes received from the network in this run.
        var fetched: Int64 = 0
        var meter = RateMeter()
        fileprivate var retries = Retries()
        /// The first drawing after the last event; nil if there has been an event since.
        var heard: ContinuousClock.Instant?

        /// The bytes that are missing; nil if the length is unknown.
        var missing: Int64? { total.map { max($0 - received, 0) } }

        /// The seconds until all bytes have been received; nil if that is unknown, or if none are missing.
        var left: Int64? {
            guard let rate = meter.rate, let missing, rate > 0, missing > 0 else { return nil }
            return missing / rate
        }

        /// Begins to receive bytes of a file with a length.
        fileprivate mutating func receive(_ total: Int64?) { (phase, self.total) = (.receiving, total) }
    }

    /// The retries of a running download.
    struct Retries {
        fileprivate(set) var count = 0
        /// Whether the last one had the reason of the one before.
        fileprivate(set) var isSameReason = false
        private var reason: Reason.Code?

        /// The words about them, for the end of a line.
        var text: String {
            switch count {
            case 0: ""
            case 1: ", after 1 retry"
            default: ", after \(count) retries"
            }
        }

        fileprivate mutating func add(_ new: Reason.Code) {
            // The other downloads of the server go on.
            if new != .noFurtherConnection { count += 1 }
            isSameReason = reason == new
            reason = new
        }
    }

    /// The running downloads by their numbers.
    private(set) var files: [Int64: File] = [:]
    /// Whether ``report`` consists of events in JSON; the names are URLs then.
    var reportsEvents = false
    /// The number of downloads, including those that have not started; it grows while a list is read.
    var count: Int
    private(set) var done = 0
    private(set) var failed = 0
    /// The bytes of delivered files.
    private(set) var delivered: Int64 = 0
    /// The bytes received from the network by downloads that have ended.
    private var fetchedBefore: Int64 = 0
    private(set) var meter = RateMeter()
    private let start: ContinuousClock.Instant
    /// After this time without bytes, a connection is closed.
    let stallTimeout: Duration
    /// The time of the last ``tick(_:)``.
    private(set) var now: ContinuousClock.Instant

    /// Makes the state before the first download.
    ///
    /// - Parameters:
    ///   - count: The number of downloads.
    ///   - stallTimeout: After this time without bytes, a connection is closed.
    ///   - now: The time.
    init(count: Int = 0, stallTimeout: Duration = .seconds(30), now: ContinuousClock.Instant = .now) {
        self.count = count
        self.stallTimeout = stallTimeout
        start = now
        self.now = now
    }

    /// The number of downloads that have not started.
    var waiting: Int { max(count - done - failed - files.count, 0) }
    /// The bytes received from the network in this run.
    private var fetched: Int64 { files.values.reduce(fetchedBefore) { $0.addingSaturating($1.fetched) } }
    /// The bytes of all files that have been received, in this run or earlier.
    var received: Int64 { files.values.reduce(delivered) { $0.addingSaturating($1.received) } }

    /// Records that a download starts.
    ///
    /// - Parameters:
    ///   - number: The number of the download.
    ///   - name: Its file, without control characters.
    mutating func begin(_ number: Int64, named name: String) {
        files[number] = File(name: name)
    }

    /// Records that a download has failed for now and is tried once more after the others.
    mutating func postpone(_ number: Int64) {
        if let file = files.removeValue(forKey: number) {
            fetchedBefore = fetchedBefore.addingSaturating(file.fetched)
        }
    }

    /// Handles an event of a running download.
    ///
    /// - Returns: The retries until then.
    @discardableResult
    mutating func take(_ event: DownloadEvent, of number: Int64) -> Retries {
        guard var file = files[number] else { return Retries() }
        file.heard = nil
        switch event {
        case .waiting: file.phase = .waiting
        case .retrying(let reason, let delay):
            file.phase = .retrying(reason, at: now + delay)
            file.retries.add(reason.code)
        case .started(let total): file.receive(total)
        case .restarted(_, let total):
            file.receive(total)
            file.received = 0
        case .resumed(let offset, let total):
            file.receive(total)
            file.received = max(file.received, offset)
        case .progress(let received, let total):
            file.fetched = file.fetched.addingSaturating(max(received - file.received, 0))
            file.received = received
            file.total = total
            file.phase = total == received ? .saving : .receiving
        case .finished(let result):
            (file.received, file.total) = (result.totalBytes, result.totalBytes)
            file.fetched = result.fetchedBytes
            file.phase = .completing
        case .damaged, .resumeDataOutdated: break
        }
        files[number] = file
        return file.retries
    }

    /// Records that a download has ended.
    ///
    /// - Parameters:
    ///   - number: The number of the download; nil if it was not started.
    ///   - isFailure: Whether it has failed; false if it was not needed, too.
    mutating func end(_ number: Int64?, isFailure: Bool) {
        if isFailure { failed += 1 } else { done += 1 }
        guard let number, let file = files[number] else { return }
        // A file that is kept was not delivered.
        if !isFailure, file.phase == .completing { delivered = delivered.addingSaturating(file.received) }
        postpone(number)
    }

    /// Measures the rates; called before each drawing.
    mutating func tick(_ now: ContinuousClock.Instant = .now) {
        self.now = now
        meter.record(fetched, at: now)
        for number in files.keys {
            guard let file = files[number] else { continue }
            files[number]?.heard = file.heard ?? now
            files[number]?.meter.record(file.fetched, at: now)
        }
    }

    /// The line that remains when all downloads have ended; nil for a single one.
    var summary: String? {
        guard count > 1 else { return nil }
        let rate = fetched > 0 ? ", \(ByteCount.rate(RateMeter.rate(of: fetched, in: now - start)))" : ""
        let time = TimeSpan.text((now - start).components.seconds)
        return "\(done) of \(count) files, \(ByteCount.text(fetched)) received in \(time)\(rate)"
    }
}
