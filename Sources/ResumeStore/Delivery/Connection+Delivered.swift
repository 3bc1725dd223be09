import ResumeFiles
import ResumeHTTP
package import ResumeSQLite

/// What was recorded of a path.
package struct DeliveryRecord: Sendable, Hashable {
    package var path: String
    /// The URL without user info and signature.
    package var url: String
    package var file: DeliveredFile?
    /// A file that is about to get the name, or that the user has named to be replaced, by a download of ``url``.
    var next: DeliveredFile?

    package init(path: String, url: String, file: DeliveredFile? = nil, next: DeliveredFile? = nil) {
        self.path = path
        self.url = url
        self.file = file
        self.next = next
    }

    /// Returns the file that may be replaced by a download of a URL.
    ///
    /// - Parameters:
    ///   - now: What is at the place.
    ///   - place: The destination.
    ///   - url: The URL without user info and signature.
    /// - Returns: The file as it was recorded; nil if there is none.
    package func own(_ now: FileStamp, at place: Destination, for url: String) -> DeliveredFile? {
        let isSame = url == self.url
        let known = [file?.isReplaceable == true && !isSame ? nil : file, isSame ? next : nil].lazy.compactMap { $0 }
        return known.lazy.compactMap { $0.found(now, at: place) }.first
    }
}

/// The files that were delivered.
extension Connection {
    /// The maximum number of records.
    private static let mostDelivered: Int64 = 1_000_000

    private static func record(_ row: borrowing Row) -> DeliveryRecord? {
        guard let path = row.text(0), let url = row.text(1) else { return nil }
        return DeliveryRecord(
            path: path, url: url, file: row.text(2).flatMap(DeliveredFile.init(stored:)),
            next: row.text(3).flatMap(DeliveredFile.init(stored:)))
    }

    /// Records a file before it gets its name, or before it is replaced.
    ///
    /// What had the name before stays recorded, since the process may die in between, and so does what the user permits
    /// to be replaced.
    borrowing func announceDelivery(of next: DeliveredFile.Text, at path: String, from url: String) throws {
        try run(
            """
            INSERT INTO delivered (path, seen, url, next) VALUES (?, ?, ?, ?)
            ON CONFLICT (path) DO UPDATE SET
                file = iif(CAST(next AS INTEGER) < 0 AND url = excluded.url, next, file),
                url = excluded.url, next = excluded.next
            """, path, WallClock.milliseconds, url, next.text)
    }

    borrowing func recordDelivery(of file: DeliveredFile.Text, at path: String, from url: String) throws {
        let now = WallClock.milliseconds
        let first = "UPDATE delivered SET seen = ?, url = ?, file = ?, next = NULL WHERE path = ? AND file IS NULL"
        if try run(first, now, url, file.text, path) > 0 { return }
        let next = "REPLACE INTO delivered (path, seen, url, file) VALUES (?, ?, ?, ?)"
        try run(next, path, now, url, file.text)
    }

    /// Records a later status of a delivered file, unless another delivery has been recorded since.
    borrowing func renew(_ file: DeliveredFile.Text, with now: DeliveredFile.Text, of departure: Departure) throws {
        try run("UPDATE delivered SET file = ? WHERE path = ? AND file = ?", now.text, departure.place, file.text)
        for row in departure.rows {
            try run("UPDATE queued SET file = ? WHERE id = ? AND file = ?", now.text, row.id, file.text)
        }
    }

    /// Records that a file is unchanged, and what is known of it now unless that is no news.
    package borrowing func renewDelivery(
        of file: DeliveredFile, at path: String, from url: String, isNews: Bool = true
    ) throws {
        try run(
            """
            INSERT INTO delivered (path, seen, url, file) VALUES (?, ?, ?, ?)
            ON CONFLICT (path) DO UPDATE SET seen = excluded.seen,
                file = iif(?, excluded.file, ifnull(file, excluded.file))
            """, path, WallClock.milliseconds, url, file.stored, isNews)
    }

    borrowing func delivered(at path: String) throws -> DeliveryRecord? {
        try first("SELECT path, url, file, next FROM delivered WHERE path = ?", path) { Self.record($0) }
    }

    /// Returns the next files that were delivered, in that order.
    ///
    /// - Parameters:
    ///   - id: The ID after which to begin.
    ///   - time: The earliest time of delivery, in milliseconds since 1970.
    ///   - limit: The maximum number.
    /// - Returns: The IDs, and the records; nil for those that cannot be read.
    /// - Throws: `SQLiteError`.
    package borrowing func delivered(
        after id: Int64, since time: Int64, limit: Int64
    ) throws -> [(id: Int64, record: DeliveryRecord?)] {
        try rows(
            """
            SELECT path, url, file, NULL, id FROM delivered WHERE id > ? AND CAST(file AS INTEGER) >= ?
            ORDER BY id LIMIT ?
            """, id, time, limit
        ) { ($0.integer(4) ?? .max, Self.record($0)) }
    }

    /// Whether one of the files that were last received from an origin came over connections with a trusted certificate.
    borrowing func hasTrusted(_ origin: String) throws -> Bool {
        try rows(
            "SELECT file FROM delivered WHERE substr(url, 1, ?) = ? ORDER BY seen DESC LIMIT 100",
            Int64(origin.utf8.count) + 1, "\(origin)/"
        ) { $0.text(0).flatMap(DeliveredFile.init(stored:))?.resource?.trust.isTrusted == true }.contains(true)
    }

    /// Removes the records that were seen least recently, if there are too many.
    borrowing func pruneDelivered(most: Int64 = mostDelivered) throws {
        // The IDs tell at once that there are not.
        guard try integer("SELECT ifnull(max(id) - min(id), 0) FROM delivered") ?? 0 >= most else { return }
        try run(
            """
            DELETE FROM delivered WHERE id IN (
                SELECT id FROM delivered ORDER BY seen DESC, id DESC LIMIT -1 OFFSET ?)
            """, most)
    }
}

/// The jobs whose files were delivered.
extension Connection {
    /// Returns the URLs of unfinished jobs of earlier lists whose destinations those of a list have now.
    borrowing func rivals(
        of ids: ClosedRange<Int64>, in list: Int64, of queue: Int64
    ) throws -> [(destination: String, url: String)] {
        // Mostly nothing is left of earlier lists, which one step of an index tells.
        let left = "SELECT 1 FROM queued WHERE queue = ? AND state <> 'failed' AND list < ? AND list > 0 LIMIT 1"
        guard try integer(left, queue, list) != nil else { return [] }
        return try rows(
            """
            SELECT new.destination, old.url FROM queued AS new JOIN queued AS old
                ON old.destination = new.destination AND old.list < new.list AND old.list <> 0
            WHERE new.id BETWEEN ? AND ? AND new.list = ? AND old.queue = new.queue AND old.key <> new.key
                AND old.state <> 'failed' LIMIT 16
            """, ids.lowerBound, ids.upperBound, list
        ) { ($0.text(0) ?? "", $0.text(1) ?? "") }
    }

    /// Records the delivery of a request: the row of a program's queue is removed, a job is done, unless something is left.
    ///
    /// Jobs of earlier lists for the same destination, such as one with a mistyped URL, are cancelled, since they would
    /// replace the file when they are resumed. A name that the server has chosen cancels none.
    ///
    /// The file is recorded only if it is proved, so that a later run does not take it for the server's. If the server has
    /// named it, its path is recorded with it. If two processes were given the same ID, which takes file locks that do not
    /// work, the row is another download's, and stays.
    borrowing func fulfil(_ row: JobTable.QueuedRow, with file: DeliveredFile.Text?, at path: String) throws {
        let done = row.rest == nil ? Job.State.done.rawValue : nil
        let rest = row.rest?.stored
        // The text of a file that the server has named is another one, and few files have that.
        let isJob =
            try run("\(Self.fulfilment) AND destination = ?", done, rest, file?.text, row.id, row.key, path) > 0
        if isJob {
            // Most files are those of one job, which the index tells.
            let others = "SELECT 1 FROM queued WHERE destination = ? AND list <> 0 AND id <> ? LIMIT 1"
            if try integer(others, path, row.id) != nil { try cancelOthers(of: row, at: path) }
            return
        }
        var named = file?.file
        named?.path = path
        if try run(Self.fulfilment, done, rest, named?.stored, row.id, row.key) > 0 { return }
        try run("DELETE FROM queued WHERE id = ? AND list = 0 AND key = ?", row.id, row.key)
    }

    private static let fulfilment = """
        \(unchecked) UPDATE queued SET state = 'failed', ended = ?, failure = ?, attempts = attempts + 1, file = ?
        WHERE id = ? AND list <> 0 AND key = ?
        """

    /// Cancels the jobs of earlier lists with the destination of a job.
    private borrowing func cancelOthers(of row: JobTable.QueuedRow, at path: String) throws {
        try run(
            """
            UPDATE queued SET state = 'failed', ended = ?1, failure = ?2 WHERE destination = ?3 AND ended IS NULL
                AND list <> 0 AND queue = (SELECT queue FROM queued WHERE id = ?4)
                AND list < (SELECT list FROM queued WHERE id = ?4 AND destination = ?3)
            """, Job.State.cancelled.rawValue, Reason.superseded.stored, path, row.id)
    }
}
