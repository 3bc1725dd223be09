internal import ResumeHTTP
internal import ResumeStore

/// The entries of a store as text: a table for a terminal, or one line per entry for another program.
struct EntryTable {
    var entries: [Entry]
    /// The width of the terminal; nil for another program.
    var width: Int?

    /// A URL is not shortened to less than this.
    static let leastURL = 24

    /// The lines; empty if there are no entries.
    var lines: [String] {
        guard !entries.isEmpty else { return [] }
        guard let width else { return entries.map(Self.line) }
        let rows = entries.map(Row.init)
        let layout = Layout.best(for: rows, width: width)
        return [layout.header] + rows.map(layout.line) + [Self.totals(of: entries)]
    }

    /// Returns an entry on one line, with its whole key.
    private static func line(_ entry: Entry) -> String {
        let row = Row(entry)
        return "\(pad(row.state, 8))  \(pad(row.received, 28))  \(pad(row.used + " ago", 12))  \(row.key)\(row.note)"
    }

    /// Returns the number of entries and the sums of their bytes.
    private static func totals(of entries: [Entry]) -> String {
        let received = entries.reduce(Int64(0)) { $0.addingSaturating($1.receivedBytes) }
        let known = entries.compactMap(\.totalBytes)
        let total = known.reduce(Int64(0)) { $0.addingSaturating($1) }
        let isKnown = known.count == entries.count
        let sum = isKnown ? " of \(ByteCount.text(total)) (\(Rendering.percent(received, of: total)))" : ""
        return "\(Rendering.entries(entries.count)), \(ByteCount.text(received))\(sum)"
    }

    /// The texts of one entry.
    struct Row {
        let state: String
        let received: String
        let percent: String
        let used: String
        let key: String
        let note: String

        init(_ entry: Entry) {
            let held = ByteCount.text(entry.receivedBytes)
            state = entry.state.rawValue
            percent = entry.totalBytes.map { Rendering.percent(entry.receivedBytes, of: $0) } ?? "?"
            received = entry.totalBytes.map { [percent] in "\(held) of \(ByteCount.text($0)) (\(percent))" } ?? held
            used = Rendering.age(entry.usedAt)
            key = Redaction.key(entry.key)
            note = Rendering.note(entry)
        }
    }

    /// The columns before the URL.
    private struct Layout {
        struct Column {
            let title: String
            let text: (Row) -> String
        }

        let columns: [(column: Column, width: Int)]
        let roomForURL: Int

        /// From the most to the least detailed.
        private static var choices: [[Column]] {
            let state = Column(title: "STATE") { $0.state }
            let received = Column(title: "RECEIVED") { $0.received }
            let percent = Column(title: "%") { $0.percent }
            let used = Column(title: "USED") { $0.used }
            return [[state, received, used], [state, received], [state, percent], [percent], []]
        }

        /// Returns the most detailed layout that leaves enough room for the URLs.
        static func best(for rows: [Row], width: Int) -> Layout {
            let layouts = choices.lazy.map { columns in
                let sized = columns.map { column in
                    (column, rows.reduce(column.title.count) { max($0, column.text($1).count) })
                }
                return Layout(columns: sized, roomForURL: width - sized.reduce(0) { $0 + $1.1 + 2 })
            }
            return layouts.first { layout in
                rows.allSatisfy { min(Terminal.columns($0.key), leastURL) + $0.note.count <= layout.roomForURL }
            } ?? Layout(columns: [], roomForURL: width)
        }

        var header: String { line("URL") { $0.title } }

        func line(_ row: Row) -> String {
            let room = max(roomForURL - row.note.count, EntryTable.leastURL)
            return line(Terminal.shortened(row.key, to: room) + row.note) { $0.text(row) }
        }

        private func line(_ last: String, _ text: (Column) -> String) -> String {
            columns.map { EntryTable.pad(text($0.column), $0.width) + "  " }.joined() + last
        }
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}
