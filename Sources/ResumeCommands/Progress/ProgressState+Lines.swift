import ResumeFiles
import ResumeHTTP
import ResumeStore

extension ProgressState {
    /// Returns the lines that show the state: one for each running download, as many as fit, one that sums up the
    /// others, and the total.
    ///
    /// - Parameter size: The terminal. The lines take up all of its rows but one, at most, and all columns but one.
    /// - Returns: The lines; none if the terminal has only one row or one column.
    func lines(in size: Terminal.Size) -> [String] {
        let width = size.width - 1
        guard width > 0, size.height > 1 else { return [] }
        // The total of a single download is that download.
        let rows = size.height - (count > 1 ? 2 : 1)
        // Files that only wait for the disk are the first to be summed up.
        let files = sorted.filter { $0.phase != .saving } + sorted.filter { $0.phase == .saving }
        let shown = files.prefix(files.count <= rows ? rows : max(rows - 1, 0))
        var lines = table(of: Array(shown), width: width)
        if shown.count < files.count, rows > 0 {
            lines.append(Self.line(of: files[shown.count...], width: width))
        }
        if count > 1 { lines.append(total(width: width)) }
        return lines
    }

    /// The running downloads in the order in which they were given.
    private var sorted: [File] { files.sorted { $0.key < $1.key }.map(\.value) }

    /// The lines for a log: the total, and what the first of the downloads that receive nothing waits for, or else what
    /// the first one does.
    var report: [String] {
        if reportsEvents { return sorted.compactMap(event) }
        let total = count > 1 ? [total(width: 200)] : []
        guard let file = sorted.first(where: { words($0) != nil }) ?? sorted.first else { return total }
        let wait = words(file)?.long
        if count > 1, wait == nil { return total }
        let columns: [Column] = wait == nil ? [.percent, .bytes, .speed, .left] : [.percent]
        let facts = [wait ?? ""] + columns.map { text(file, $0) }
        return ["\(file.name): \(facts.filter { !$0.isEmpty }.joined(separator: ", "))"] + total
    }

    /// Returns the event of a download that waits; nil if it does not.
    private func event(_ file: File) -> String? {
        switch file.phase {
        case .retrying(let reason, let time):
            let seconds = (time - now).components.seconds
            return reason.waiting(file.name, seconds > 0 ? seconds : nil).json
        case .waiting: return Reason.sameResource.waiting(file.name, nil).json
        case .connecting, .receiving, .saving, .completing: return nil
        }
    }

    /// Returns one line for files that do not fit.
    private static func line(of files: ArraySlice<File>, width: Int) -> String {
        let received = ByteCount.text(files.reduce(Int64(0)) { $0.addingSaturating($1.received) })
        let rates = files.compactMap(\.meter.rate)
        let rate = rates.isEmpty ? "" : "  \(ByteCount.rate(rates.reduce(0) { $0.addingSaturating($1) }))"
        let saving = files.count { $0.phase == .saving }
        let more = "and \(files.count) more"
        let words = saving == files.count ? "\(more), being saved to disk" : more
        return fitting(["\(words)  \(received)\(rate)", "\(words)  \(received)", words, more], width)
    }

    /// Returns the line about all downloads.
    private func total(width: Int) -> String {
        // Lengths are known of files that have started.
        let areKnown = waiting == 0 && files.values.allSatisfy { $0.total != nil }
        let missing = files.values.reduce(Int64(0)) { $0.addingSaturating($1.missing ?? 0) }
        let least = areKnown ? "" : "at least "
        let all = received.addingSaturating(missing)
        let bytes = missing > 0 || areKnown ? " of \(least)\(ByteCount.text(all))" : ""
        let percent = areKnown && all > 0 ? "  \(Rendering.percent(received, of: all))" : ""
        let speed = meter.rate.map { "  " + ByteCount.rate($0) } ?? ""
        // All files end with the longest one.
        let seconds = (meter.rate ?? 0) > 0 ? missing / (meter.rate ?? 1) : 0
        let longest = files.values.reduce(seconds) { max($0, $1.left ?? 0) }
        // "At least no time" says nothing.
        let isLeft = longest > 0 || areKnown && missing > 0 && (meter.rate ?? 0) > 0
        let left = isLeft ? "  \(least)\(TimeSpan.text(longest)) left" : nil
        let failures = failed > 0 ? ", \(failed) failed" : ""
        let long = "\(done) of \(count) files\(failures)\(percent)"
        let short = "\(done)/\(count)\(failures)"
        let slots = waiting > 0 ? "  \(waiting) waiting for a slot" : ""
        let received = "  \(ByteCount.text(self.received))"
        // In a narrow terminal, the time left is more useful than the bytes.
        let times = left.map { [[long, $0], [short, percent, $0]] } ?? []
        let rest = speed + (left ?? "")
        let texts =
            [[long, received, bytes, rest, slots], [long, received, bytes, rest], [long, received, rest]] + times
            + [[long, received, speed], [long, received], [long], [short, percent], [short], ["\(done)/\(count)"]]
        return Self.fitting(texts.map { $0.joined() }, width)
    }

    /// Returns the first text that fits, or else the beginning of the last one.
    static func fitting(_ texts: [String], _ width: Int) -> String {
        texts.first { Terminal.columns($0) <= width } ?? Terminal.cut(texts.last ?? "", to: width)
    }
}

/// The lines of running downloads, in columns.
extension ProgressState {
    /// The time without bytes after which a line says so.
    private static let silence = Duration.seconds(5)

    /// The columns after the name, in their order, and the least widths of most of them, so that they seldom move.
    private enum Column {
        case bar, percent, bytes, speed, left
        /// The time left, or the bytes if the length is unknown.
        case rest

        var least: Int { [.bar: 0, .percent: 4, .bytes: 21][self] ?? 10 }
    }

    /// From the most to the least detailed.
    private static let layouts: [[Column]] = [
        [.bar, .percent, .bytes, .speed, .left], [.percent, .bytes, .speed, .left], [.percent, .speed, .left],
        [.percent, .rest],
    ]
    /// The least room for a name, in layouts with more than a percentage; with a bar, the least room for both.
    private static let leastName = (plain: 12, besideBar: 40)
    /// Longer names get more room only if one is shown.
    private static let usualName = 40
    private static let gap = "  "

    private func table(of files: [File], width: Int) -> [String] {
        for columns in Self.layouts {
            let sized = columns.map { column in
                (column, files.reduce(column.least) { max($0, text($1, column).utf8.count) })
            }
            let hasBar = columns.contains(.bar)
            let room = width - sized.reduce(0) { $0 + $1.1 + Self.gap.count }
            guard room >= (hasBar ? Self.leastName.besideBar : Self.leastName.plain) else { continue }
            let bar = hasBar ? min(room / 2, 40) : 0
            let longest = files.reduce(Self.usualName) { max($0, Terminal.columns($1.name)) }
            let name = min(room - bar, longest)
            return files.map { line($0, name: name, columns: sized, bar: bar, width: width) }
        }
        return files.map { narrow($0, width: width) }
    }

    private func line(_ file: File, name: Int, columns: [(Column, Int)], bar: Int, width: Int) -> String {
        let start = Terminal.fitted(file.name, to: name)
        if let words = words(file)?.long {
            let percent = text(file, .percent)
            let known = percent.isEmpty ? words : "\(percent), \(words)"
            return start + Self.gap + Terminal.cut(known, to: width - name - Self.gap.count)
        }
        let cells = columns.map { column, width in
            if column == .bar { return graph(file, bar) }
            let text = text(file, column)
            return String(repeating: " ", count: max(width - text.utf8.count, 0)) + text
        }
        let line = ([start] + cells).joined(separator: Self.gap)
        return String(line[...(line.lastIndex { $0 != " " } ?? line.startIndex)])
    }

    /// Returns the line in a terminal that has room for the name and one fact.
    private func narrow(_ file: File, width: Int) -> String {
        let fact = words(file)?.short ?? text(file, file.total == nil ? .bytes : .percent)
        let room = width - fact.utf8.count - Self.gap.count
        guard room > 0 else { return Terminal.cut(fact, to: width) }
        return Terminal.fitted(file.name, to: room) + Self.gap + fact
    }

    private func graph(_ file: File, _ width: Int) -> String {
        guard let total = file.total, total > 0 else { return String(repeating: " ", count: width) }
        let filled = Int(min(Double(file.received) / Double(total), 1) * Double(width - 2))
        return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: width - 2 - filled) + "]"
    }

    private func text(_ file: File, _ column: Column) -> String {
        switch column {
        case .bar: return ""
        case .percent: return file.total.map { Rendering.percent(file.received, of: $0) } ?? ""
        case .bytes: return ByteCount.text(file.received, of: file.total)
        case .speed: return file.meter.rate.map(ByteCount.rate) ?? ""
        case .left:
            return file.left.map { "\(TimeSpan.text($0)) left" } ?? ""
        case .rest: return file.total == nil ? text(file, .bytes) : text(file, .left)
        }
    }

    /// Says what a download does if it does not receive bytes.
    private func words(_ file: File) -> (short: String, long: String)? {
        switch file.phase {
        case .receiving: return silence(file, "no data").map { ("no data", $0) }
        case .connecting: return ("starting", silence(file, "no response") ?? "connecting")
        case .waiting: return ("waiting", "waiting for another download of it")
        case .saving: return ("saving", "saving to disk")
        case .completing: return ("completing", "running --on-complete")
        case .retrying(let reason, let time):
            let seconds = (time - now).components.seconds
            let clock = seconds >= 60 ? ", at \(WallClock.text(afterSeconds: seconds))" : ""
            let wait = seconds > 0 ? " in \(TimeSpan.text(seconds))\(clock)" : ""
            return ("retrying", "retrying\(wait): \(Printable.escaped(reason.clause))")
        }
    }

    /// Says for how long nothing has been received, and when that ends the connection.
    private func silence(_ file: File, _ what: String) -> String? {
        guard let heard = file.heard else { return nil }
        let time = now - heard
        guard time >= Self.silence else { return nil }
        let left = (stallTimeout - time).components.seconds
        let next = left > 0 ? ", retry in \(TimeSpan.text(left))" : ""
        return "\(what) for \(TimeSpan.text(time.components.seconds))\(next)"
    }
}
