import ResumeHTTP
import ResumeStore

/// Prints the entries of a store as they are read: a table for a terminal, or one line per entry for another program.
struct EntryTable {
    /// The width of the terminal; nil for another program.
    let width: Int?
    let print: (String) -> Void

    /// A URL is not shortened to less than this.
    static let leastURL = 24
    /// The number of entries that determine the widths of the columns; if there are more, the first ones do.
    private static let measured = 512

    /// The entries before the widths are known.
    private var waiting: [Row] = []
    private var layout: Layout?
    private var count = 0
    private var received: Int64 = 0
    /// The sum of the lengths; nil if one is unknown.
    private var total: Int64? = 0

    init(width: Int?, print: @escaping (String) -> Void) {
        self.width = width
        self.print = print
    }

    mutating func add(_ entry: Entry) {
        guard width != nil else { return print(Self.line(entry)) }
        count += 1
        received = received.addingSaturating(entry.receivedBytes)
        total = total.flatMap { total in entry.totalBytes.map(total.addingSaturating) }
        let row = Row(entry, isDecoded: true)
        if let layout { return print(layout.line(row)) }
        waiting.append(row)
        if waiting.count == Self.measured { begin() }
    }

    /// Prints the rest, and the totals.
    mutating func end() {
        guard width != nil, count > 0 else { return }
        begin()
        let sum = total.map { " of \(ByteCount.text($0)) (\(Rendering.percent(received, of: $0)))" } ?? ""
        print("\(Rendering.entries(count)), \(ByteCount.text(received))\(sum)")
    }

    private mutating func begin() {
        guard layout == nil, let width else { return }
        let best = Layout.best(for: waiting, width: width)
        layout = best
        print(best.header)
        for row in waiting { print(best.line(row)) }
        waiting = []
    }

    /// Returns an entry on one line, with its whole key.
    private static func line(_ entry: Entry) -> String {
        let row = Row(entry)
        let used = Terminal.padded(row.text(.used) + " ago", to: 12)
        return "\(row.text(.state, 8))  \(row.text(.received, 28))  \(used)  \(row.key)\(row.note)"
    }

    /// A column before the URL.
    private enum Column: String {
        case state, received, used, destination
        case percent = "%"
    }

    /// The texts of one entry.
    private struct Row {
        let texts: [Column: String]
        let key: String
        let note: String

        /// Makes the texts of an entry.
        ///
        /// - Parameters:
        ///   - entry: The entry.
        ///   - isDecoded: Whether the URL is shown as people read it, instead of as it is written.
        init(_ entry: Entry, isDecoded: Bool = false) {
            let received = ByteCount.text(entry.receivedBytes, of: entry.totalBytes)
            let percent = entry.totalBytes.map { Rendering.percent(entry.receivedBytes, of: $0) } ?? "?"
            let place = entry.destination.map { Printable.escaped(StandardOutput.shown($0)) }
            texts = [
                .state: entry.state.rawValue, .percent: percent, .used: Rendering.age(entry.times.used),
                .received: entry.totalBytes == nil ? received : "\(received) (\(percent))",
                .destination: Terminal.shortened(place ?? "-", to: 30),
            ]
            let shown = DownloadURL.shownKey(entry.key)
            key = Printable.escaped(isDecoded ? ReadableURL.text(shown) : shown)
            note = Rendering.note(entry)
        }

        /// Returns the text of a column with spaces after it.
        func text(_ column: Column, _ width: Int = 0) -> String { Terminal.padded(texts[column] ?? "", to: width) }
    }

    /// The columns before the URL.
    private struct Layout {
        let columns: [(column: Column, width: Int)]
        let roomForURL: Int

        /// From the most to the least detailed.
        private static let choices: [[Column]] = [
            [.state, .received, .used, .destination], [.state, .received, .used], [.state, .received],
            [.state, .percent], [.percent], [],
        ]

        /// Returns the most detailed layout that leaves enough room for the URLs.
        static func best(for rows: [Row], width: Int) -> Layout {
            let layouts = choices.lazy.map { columns in
                let sized = columns.map { column in
                    (column, rows.reduce(column.rawValue.count) { max($0, Terminal.columns($1.text(column))) })
                }
                return Layout(columns: sized, roomForURL: width - sized.reduce(0) { $0 + $1.1 + 2 })
            }
            return layouts.first { layout in
                rows.allSatisfy { min(Terminal.columns($0.key), leastURL) + $0.note.count <= layout.roomForURL }
            } ?? Layout(columns: [], roomForURL: width)
        }

        var header: String {
            columns.map { Terminal.padded($0.column.rawValue.uppercased(), to: $0.width) + "  " }.joined() + "URL"
        }

        func line(_ row: Row) -> String {
            let least = min(EntryTable.leastURL, roomForURL)
            let url = Terminal.shortened(row.key, to: max(roomForURL - row.note.count, least))
            return columns.map { row.text($0.column, $0.width) + "  " }.joined() + url + row.note
        }
    }
}
