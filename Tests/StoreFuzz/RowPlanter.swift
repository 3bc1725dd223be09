internal import TestSupport

/// Generates statements that plant rows: any column, extreme values, rows that are nearly right.
struct RowPlanter {
    let columns: [PristineStore.Column]
    /// Paths that must not be written to, and that a row may name.
    let forbidden: [String]
    var random: SplitMix64

    private var tables: [String] { Array(Set(columns.map(\.table))).sorted() }

    mutating func statement() -> String {
        let table = random.pick(tables)
        let own = columns.filter { $0.table == table }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10:
            let changed = (0..<Int.random(in: 1...2, using: &random)).map { _ in random.pick(own) }
            let places = changed.map { column in "\(column.name) = \(value(for: column))" }
            return "UPDATE OR \(random.pick(["IGNORE", "REPLACE"])) \(table) SET "
                + "\(Set(places).sorted().joined(separator: ", "))\(condition(on: own))"
        case 10..<13:
            let values = own.map { value(for: $0) }.joined(separator: ", ")
            return "INSERT OR REPLACE INTO \(table) (\(names(own))) VALUES (\(values))"
        case 13..<17:
            // A copy of a row that is right except for one or two of its columns.
            let changed = Set((0..<Int.random(in: 1...2, using: &random)).map { _ in random.pick(own) })
            let values = own.map { changed.contains($0) ? value(for: $0) : $0.name }.joined(separator: ", ")
            return "INSERT OR REPLACE INTO \(table) (\(names(own))) SELECT \(values) FROM \(table) "
                + "LIMIT 1 OFFSET \(Int.random(in: 0..<3, using: &random))"
        case 17..<19:
            return "DELETE FROM \(table)\(condition(on: own))"
        default:
            return many()
        }
    }

    private func names(_ columns: [PristineStore.Column]) -> String { columns.map(\.name).joined(separator: ", ") }

    /// All rows, or those that share a value with one of the first.
    private mutating func condition(on columns: [PristineStore.Column]) -> String {
        guard let column = columns.first, random.happens(70) else { return "" }
        let place = Int.random(in: 0..<4, using: &random)
        return " WHERE \(column.name) IS (SELECT \(column.name) FROM \(column.table) LIMIT 1 OFFSET \(place))"
    }

    /// Thousands of rows.
    private mutating func many() -> String {
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        return random.pick([
            "\(numbers) INSERT INTO event (key, at, kind, reason) SELECT 'first-entry', i, 'started', i FROM n",
            "\(numbers) INSERT OR IGNORE INTO block (download, first_byte, length, crc32c) "
                + "SELECT 1, i * 7, 7, i FROM n",
            "\(numbers) INSERT OR IGNORE INTO chunk (download, first_byte, path, received, durable, generation) "
                + "SELECT 1, 400000 + i * 7, path, 5, 5, generation "
                + "FROM n, (SELECT path, generation FROM chunk LIMIT 1)",
            "\(numbers) INSERT OR IGNORE INTO download (key, url, created_at, used_at, boot_id) "
                + "SELECT i, 'http://h/' || i, i, i, '' FROM n",
            "\(numbers) INSERT OR IGNORE INTO queued (queue, key, url, destination, state, priority, forced, position) "
                + "SELECT 1, i, 'http://127.0.0.1:9/', '/nowhere/' || i, 'waiting', i, 1, i FROM n",
        ])
    }

    private static let numbers = [
        "-9223372036854775808", "-9223372036854775807", "-1", "0", "1", "2", "4095", "4096", "65536", "199999",
        "200001", "2147483647", "2147483648", "4294967295", "4294967296", "9007199254740993", "1152921504606846975",
        "1152921504606846976", "1152921504606846977", "4611686018427387904", "9223372036854775806",
        "9223372036854775807",
    ]
    /// Values that are never a number of received bytes: an entry with such a number would be complete, undetectably.
    private static let lengths = [
        "-9223372036854775808", "-1", "2147483649", "1152921504606846978", "9223372036854775805",
    ]
    private static let words = [
        "''", "'x'", "'partial'", "'complete'", "'waiting'", "'running'", "'paused'", "'first-entry'", "'third-entry'",
        "'../outside'", "'/etc/passwd'", "'blobs/../../outside'", "'blobs/0123456789abcdef0123456789abcdef'",
        "'blobs/'",
        "'blobs/a' || char(0) || 'b'", "CAST(x'ff41fec0af1b5b324a' AS TEXT)", "CAST(x'eda080' AS TEXT)",
        "char(27) || '[2J' || char(7) || char(10) || char(13) || char(8238) || char(155)", "hex(zeroblob(400000))",
        "'http://[::1'", "'http://127.0.0.1:9/x'", "'file:///etc/passwd'", "'http://u:p@h/?sig=1#f'",
        "'\"first-entry-1\"'",
        "'\"first-entry-2\"'", "'W/\"a\"'", "'\"a\" || char(13) || \"b\"'", "'Mon, 02 Jun 2025 12:00:00 GMT'",
        "'Tue, 31 Feb 9999 25:61:61 GMT'", "'0-99'", "'-1'", "'bytes=5-4'", "'0-0,1-1,2-2'",
        "'9223372036854775807-9223372036854775807'", "'gzip'", "'sha-256=:AAAA:'", "'text/html'",
        "'00000000-0000-0000-0000-000000000000'", "'started'", "'delivered'", "'evicted'", "'{}'", "'{\"version\":1}'",
        "replace(hex(zeroblob(40000)), '00', '[')", "replace(hex(zeroblob(40000)), '00', '{\"a\":')",
        "(SELECT path FROM chunk LIMIT 1 OFFSET 1)", "(SELECT path FROM chunk LIMIT 1 OFFSET 2)",
        "(SELECT boot_id FROM download LIMIT 1)", "(SELECT key FROM download LIMIT 1 OFFSET 1)",
    ]

    /// A value for a column, mostly of its own type.
    private mutating func value(for column: PristineStore.Column) -> String {
        if random.happens(6) { return "NULL" }
        if random.happens(6) { return random.pick(["1e308", "-0.0", "x'00ff1b'", "zeroblob(70000)", "'12abc'"]) }
        // The numbers and names that would make an entry a complete copy of another file, undetectably.
        if column.name == "complete_length" { return random.pick(Self.lengths) }
        if column.table == "download", column.name == "key", random.happens(80) {
            return random.pick(["'a key'", "''", "'http://h/'", "char(27)", "hex(zeroblob(50000))"])
        }
        let isNumber = column.type == "INTEGER" ? !random.happens(5) : random.happens(5)
        if isNumber { return random.pick(Self.numbers) }
        // A queue writes to the destinations in its rows.
        let places = column.table == "queued" ? [] : forbidden.map { "'\($0)'" }
        return random.pick(random.happens(15) && !places.isEmpty ? places : Self.words)
    }
}
