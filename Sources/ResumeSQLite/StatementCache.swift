internal import CResumeSQLite
import ResumeFiles

/// The prepared statements of a connection, by SQL text.
///
/// It is a class, since a dictionary cannot contain noncopyable values, and lookups must be able to add statements.
final class StatementCache {
    final class Box {
        let value: Statement
        init(_ value: consuming Statement) { self.value = value }
    }

    /// A text whose hash is that of its length: the texts are few and long, and most have another length.
    private struct Key: Hashable {
        let sql: String
        func hash(into hasher: inout Hasher) { hasher.combine(sql.utf8.count) }
    }

    private var boxes: [Key: Box] = [:]

    func statement(_ sql: String, on connection: OpaquePointer) throws(SQLiteError) -> Box {
        if let box = boxes[Key(sql: sql)] { return box }
        let box = unsafe Box(try Statement(preparing: sql, on: connection))
        boxes[Key(sql: sql)] = box
        return box
    }

    func removeAll() {
        boxes.removeAll()
    }
}
