import CResumeSQLite
import ResumeFiles

/// A noncopyable value, which neither a dictionary nor an optional property can hold.
final class Box<Value: ~Copyable> {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}

extension Connection {
    /// The prepared statements of a connection, by SQL text.
    ///
    /// It is a class, since lookups must be able to add statements.
    final class StatementCache {
        /// A text whose hash is that of its length: the texts are few and long, and most have another length.
        private struct Key: Hashable {
            let sql: String
            func hash(into hasher: inout Hasher) { hasher.combine(sql.utf8.count) }
        }

        private var boxes: [Key: Box<Statement>] = [:]

        func statement(_ sql: String, on connection: OpaquePointer) throws(SQLiteError) -> Box<Statement> {
            if let box = boxes[Key(sql: sql)] { return box }
            let box = unsafe Box(try Statement(preparing: sql, on: connection))
            boxes[Key(sql: sql)] = box
            return box
        }

        func removeAll() {
            boxes.removeAll()
        }
    }
}
