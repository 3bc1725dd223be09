import ResumeHTTP
import ResumeMigrations
package import ResumeSQLite
import Synchronization

extension Schema {
    /// The SQL texts of all objects in a database, to be compared with those that the migrations create.
    ///
    /// Any difference was added or lost: a trigger, a view, an index on an expression, a table without its checks. Only
    /// white space is ignored, since SQLite's own `ALTER TABLE` changes it.
    package struct Texts: Sendable, Equatable {
        /// The texts by type and name, such as `table download`.
        private var texts: [String: String]

        /// Reads the schema of a database.
        package init(of connection: borrowing Connection) throws {
            let rows = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema") { row in
                let name = "\(row.text(0) ?? "object") \(row.text(1) ?? "")"
                return (name, "\(row.text(2) ?? ""): \(Self.normalized(row.text(3) ?? ""))")
            }
            texts = Dictionary(rows, uniquingKeysWith: { "\($0); \($1)" })
            // Tables created by `ANALYZE`, which a user may have run.
            for (name, text) in Self.statistics where texts[name] == text { texts[name] = nil }
        }

        private static let statistics = [
            "table sqlite_stat1": "sqlite_stat1: CREATE TABLE sqlite_stat1(tbl,idx,stat)",
            "table sqlite_stat4": "sqlite_stat4: CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
        ]

        /// The hexadecimal SHA-256 of the texts.
        var digest: String? {
            let lines = texts.map { "\($0): \($1)\n" }.sorted()
            // Their number, so that no name can contain another line.
            return HTTPDigest(.sha256, of: Array("\(lines.count)\n\(lines.joined())".utf8))?.hexadecimal
        }

        package var isEmpty: Bool { texts.isEmpty }

        /// Describes the difference from the expected schema for users; nil if there is none.
        func difference(from expected: Texts) -> (isAddition: Bool, text: String)? {
            guard self != expected else { return nil }
            let names = Set(texts.keys).union(expected.texts.keys).sorted()
            for name in names where expected.texts[name] == nil {
                return (true, "has the \(name), which does not belong to a store")
            }
            for name in names where texts[name] == nil { return (false, "lacks the \(name)") }
            for name in names where texts[name] != expected.texts[name] { return (false, "has a different \(name)") }
            return nil
        }

        /// Whether at least one table is the same.
        package func sharesTable(with other: Texts) -> Bool {
            texts.contains { name, text in
                name.hasPrefix("table ") && !name.hasPrefix("table sqlite_") && other.texts[name] == text
            }
        }

        /// Returns a text with white space reduced to single spaces, and removed next to parentheses and commas, except in
        /// quotes.
        private static func normalized(_ text: String) -> String {
            var result: [UInt8] = []
            var quote: UInt8?
            var isSpaced = false
            for byte in text.utf8 {
                if let open = quote {
                    result.append(byte)
                    if byte == open { quote = nil }
                    continue
                }
                if [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
                    isSpaced = true
                    continue
                }
                let isTight = tight.contains(byte) || result.last.map { tight.contains($0) } ?? true
                if isSpaced, !isTight { result.append(0x20) }
                isSpaced = false
                if [0x22, 0x27, 0x60].contains(byte) { quote = byte }
                result.append(byte)
            }
            return String(decoding: result, as: UTF8.self)
        }

        private static let tight: [UInt8] = Array("(),".utf8)
    }
}

extension Schema.Texts {
    private static let made = Mutex<[Int64: Schema.Texts]>([:])

    /// Returns the schema that the migrations up to a version create, determined once per process with a database in
    /// memory.
    package static func expected(at version: Int64) throws -> Schema.Texts {
        if let known = made.withLock({ $0[version] }) { return known }
        let connection = try Connection.open(path: ":memory:")
        for migration in Migration.all where migration.version <= version { try connection.execute(migration.sql) }
        let texts = try Schema.Texts(of: connection)
        made.withLock { $0[version] = texts }
        return texts
    }
}
