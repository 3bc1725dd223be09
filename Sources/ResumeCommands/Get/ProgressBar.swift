package import ResumeDownload

/// The progress line at the bottom of a terminal: received bytes, rate and remaining time.
///
/// A value that takes events and returns lines; the caller writes them.
package struct ProgressBar {
    /// The total number of downloads.
    package var count = 1

    private struct Item {
        var received: Int64 = 0
        var total: Int64?
        var reused: Int64 = 0
    }

    /// The downloads that are running.
    private var items: [String: Item] = [:]
    /// The sums of finished downloads, of which there may be a million.
    private var finished = Item()
    private var finishedCount = 0
    /// Points in time with the bytes fetched until then, for the rate of the last seconds.
    private var samples: [(at: ContinuousClock.Instant, fetched: Int64)] = []
    private var lastDrawn: ContinuousClock.Instant?

    /// Makes a progress line for one download.
    package init() {}

    /// Handles an event.
    ///
    /// - Returns: The line to draw; nil if it need not be drawn again yet.
    package mutating func take(
        _ event: DownloadEvent, of name: String, width: Int, now: ContinuousClock.Instant = .now
    ) -> String? {
        var item = items[name] ?? Item()
        var isFinished = false
        switch event {
        case .started(let total): item = Item(total: total)
        case .restarted(_, let total): item = Item(total: total)
        case .resumed(let offset, let total):
            item.reused = max(item.reused, item.received == 0 ? offset : 0)
            item.received = max(item.received, offset)
            item.total = total
        case .progress(let received, let total):
            item.received = received
            item.total = total
        case .finished(let result):
            item.received = result.totalBytes
            isFinished = true
        case .waiting, .retrying, .damaged, .resumeDataOutdated: break
        }
        if isFinished {
            finished.received += item.received
            finished.reused += item.reused
            finishedCount += 1
            items[name] = nil
        } else {
            items[name] = item
        }
        let isLast = finishedCount == count
        if let lastDrawn, now - lastDrawn < .milliseconds(100), !isLast { return nil }
        lastDrawn = now
        return line(width: width, now: now)
    }

    private mutating func line(width: Int, now: ContinuousClock.Instant) -> String {
        let received = items.values.reduce(finished.received) { $0 + $1.received }
        let reused = items.values.reduce(finished.reused) { $0 + $1.reused }
        let isKnown = finishedCount + items.count == count && items.values.allSatisfy { $0.total != nil }
        let total = isKnown ? items.values.reduce(finished.received) { $0 + ($1.total ?? 0) } : nil
        samples.append((now, received - reused))
        // At least two samples are kept, so that there is always a rate.
        let old = samples.dropLast(2).prefix { now - $0.at > .seconds(5) }.count
        samples.removeFirst(old)
        var parts: [String] = []
        if count > 1 { parts.append("\(finishedCount)/\(count) files") }
        parts.append(total.map { "\(ByteCount.text(received)) of \(ByteCount.text($0))" } ?? ByteCount.text(received))
        if let rate {
            parts.append("\(ByteCount.text(rate))/s")
            if let total, rate > 0, total > received {
                parts.append("\(TimeSpan.text((total - received) / rate)) left")
            }
        }
        if reused > 0 { parts.append("\(ByteCount.text(reused)) reused") }
        let words = parts.joined(separator: "  ")
        guard let total, total > 0 else { return String(words.prefix(max(width - 1, 0))) }
        let fraction = min(Double(received) / Double(total), 1)
        let percent = "\(Int(fraction * 100))%"
        let head = String(repeating: " ", count: max(4 - percent.count, 0)) + percent
        let room = width - head.count - words.count - 6
        guard room >= 8 else { return String("\(head)  \(words)".prefix(max(width - 1, 0))) }
        let size = min(room, 40)
        let filled = Int(fraction * Double(size))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: size - filled)
        return "\(head) [\(bar)] \(words)"
    }

    /// The bytes per second over the last seconds.
    private var rate: Int64? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let elapsed = last.at - first.at
        guard elapsed >= .milliseconds(200) else { return nil }
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        return Int64(max(Double(last.fetched - first.fetched) / seconds, 0))
    }
}
