import ResumeFiles
import ResumeHTTP
package import ResumeSQLite

/// The rows of `queue` and `queued`.
extension Connection {
    /// Returns the ID of a queue, which is inserted if it does not exist.
    package borrowing func queue(named name: String) throws -> Int64 {
        try run("INSERT INTO queue (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name)
        return try integer("SELECT id FROM queue WHERE name = ?", name) ?? 0
    }

    /// Returns the queues in the order of their IDs.
    package borrowing func queues() throws -> [(id: Int64, name: String)] {
        try rows("SELECT id, name FROM queue ORDER BY id") { row in
            row.integer(0).flatMap { id in row.text(1).map { (id, $0) } }
        }
    }

    static let queuedColumns =
        "id, key, url, destination, state, priority, forced, position, terms, failure, attempts, list, file"

    /// Returns the job in a row with these columns; nil if it cannot be read.
    static func job(_ row: borrowing Row) -> Job? {
        guard let id = row.integer(0), let key = row.text(1), let url = row.text(2), let destination = row.text(3),
            let state = row.text(4).flatMap({ Job.State(rawValue: $0) }), let position = row.integer(7)
        else { return nil }
        var job = Job(
            id: id, key: key, url: url, destination: destination, state: state, priority: row.integer(5) ?? 0,
            isExclusive: row.integer(6) == 1, position: min(max(position, -largest), largest), terms: row.text(8),
            failure: row.text(9).map { Reason(stored: $0) })
        if let list = row.integer(11), list != 0 {
            let file = row.text(12).flatMap(DeliveredFile.init(stored:))
            job.kind = .listed(in: list, attempts: row.integer(10) ?? 0, file: file)
        }
        return job
    }

    /// Returns the requests of a queue in the order in which they run; unreadable rows are ignored.
    borrowing func queued(in queue: Int64) throws -> [Job] {
        try rows(
            """
            SELECT \(Self.queuedColumns) FROM queued WHERE queue = ?
            ORDER BY priority DESC, state = 'running' DESC, position DESC, id
            """, queue, body: Self.request)
    }

    /// Returns a request of a program's queue.
    private static func request(_ row: borrowing Row) -> Job? {
        // Only the jobs of a list are kept when they are over; in a queue, such a state was planted.
        guard var job = job(row), ![.done, .cancelled].contains(job.state) else { return nil }
        job.failure = job.state == .failed ? job.failure ?? Reason(stored: "") : nil
        return job
    }

    /// Returns the readable rows of a queue in a damaged database, which may be of an older release.
    package borrowing func salvaged(of queue: Int64) throws -> [Job] {
        let columns = try existing("\(Self.queuedColumns), ended", in: "queued")
        return try rows("SELECT \(columns) FROM queued WHERE queue = ? ORDER BY id", queue) { row in
            guard row.integer(11) ?? 0 != 0 else { return Self.request(row) }
            var job = Self.job(row)
            if let ended = row.text(13).flatMap(Job.State.init(rawValue:)) { job?.state = ended }
            return job
        }
    }

    /// Inserts such a row, with a new ID.
    package borrowing func restore(_ job: Job, in queue: Int64) throws {
        let state = job.state.columns
        let columns = "\(Self.queuedColumns), ended".replacing("id,", with: "queue,")
        try run(
            "INSERT OR IGNORE INTO queued (\(columns)) VALUES \(Self.placeholders(columns))", queue, job.key, job.url,
            job.destination, state.state, job.priority,
            job.isExclusive, job.position, job.terms, job.failure?.stored, job.attempts, job.list, job.file?.stored,
            state.ended)
    }

    /// Inserts or updates a request.
    ///
    /// - Returns: The row's ID.
    borrowing func setQueued(_ request: Job, in queue: Int64) throws -> Int64 {
        let columns = "url, state, priority, forced, position, terms, failure"
        let values: SQLiteValues = [
            request.url, request.state.rawValue, request.priority, request.isExclusive, request.position, request.terms,
            request.failure?.stored,
        ]
        if request.id != 0 {
            // Only updated: if it was delivered in the meantime, it must not be inserted again.
            let assignment = "(\(columns)) = \(Self.placeholders(columns))"
            try run("UPDATE queued SET \(assignment) WHERE id = ? AND queue = ?", values + [request.id, queue])
            return request.id
        }
        let all = "\(columns), queue, key, destination"
        let excluded = columns.split(separator: ", ").map { "excluded.\($0)" }.joined(separator: ", ")
        return try rows(
            """
            INSERT INTO queued (\(all)) VALUES \(Self.placeholders(all))
            ON CONFLICT (queue, key, destination) DO UPDATE SET (\(columns)) = (\(excluded)) RETURNING id
            """, values + [queue, request.key, request.destination]
        ) { $0.integer(0) }.first ?? 0
    }

    /// Removes a request that was cancelled from a queue.
    borrowing func removeQueued(_ id: Int64, from queue: Int64) throws {
        try run("DELETE FROM queued WHERE id = ? AND queue = ?", id, queue)
    }
}

/// The bytes of queued requests that were removed.
extension Connection {
    /// Records the removal of bytes for all queues that request a download.
    ///
    /// A job that is not done says so, instead of that its data is kept.
    borrowing func noteRemoval(of key: String, _ event: Event) throws {
        let reason = event.reason
        let bytes = event.bytes
        guard bytes > 0 else { return }
        let lost = Reason(reason.code, "its \(bytes) bytes were removed: \(reason.text)")
        // Only what the collector removes is reported by the next run: the user knows what was purged.
        let evicted = event.kind == .evicted ? bytes : 0
        // A manipulated number must not overflow.
        try run(
            """
            UPDATE queued SET evicted = min(max(evicted, 0), ?) + ?,
                failure = iif(list <> 0 AND ended IS NULL, ?, failure) WHERE key = ?
            """, Self.largest, min(evicted, Self.largest), lost.stored, key)
    }
}

/// Numbers for files of the same name.
extension Connection {
    /// Whether a path has a file that is not that of a job, so that the job's file gets a number.
    borrowing func isOccupied(_ path: String, for job: JobTable.NewJob, in queue: Int64) throws -> Bool {
        let place = try Destination(path)
        let found = place.found
        guard let now = found.stamp, !job.isInPlace || path != job.destination else { return false }
        let record = try delivered(at: path)
        var own = record?.url == job.url ? record?.own(now, at: place, for: job.url)?.stamp : nil
        if own == nil {
            let sql = "SELECT file FROM queued WHERE queue = ? AND key = ? AND destination = ?"
            own = try first(sql, queue, job.key, path) { $0.text(0) }.flatMap(DeliveredFile.init(stored:))?.stamp
        }
        let comparable = own.map { place.comparable($0, with: now) }
        return NameDecision(found, own: comparable, digest: nil, renames: true) == .number
    }

    /// Returns the path with a number that a job had in an earlier list, unless another job or file has it now.
    borrowing func earlierPath(for new: JobTable.NewJob, in queue: Int64, of list: Int64) throws -> String? {
        let two = Destination.path(new.destination, numbered: 2)
        let start = zip(Destination.path(new.destination, numbered: 1), two).prefix { $0 == $1 }.count
        let sql = "SELECT destination FROM queued WHERE queue = ? AND key = ? ORDER BY id"
        let paths = try rows(sql, queue, new.key) { $0.text(0) }
        for path in paths {
            guard let number = Int(path.dropFirst(start).prefix { $0.isNumber }), number > 0,
                path == Destination.path(new.destination, numbered: number), try job(at: path, of: list) == nil,
                try !isOccupied(path, for: new, in: queue)
            else { continue }
            return path
        }
        return nil
    }

    /// Returns the path with a number that no other job of a list has, and no other file.
    ///
    /// The number is found by doubling and halving, since a list may have thousands of files with the same name.
    borrowing func freePath(for new: JobTable.NewJob, in queue: Int64, of list: Int64) throws -> String {
        func isTaken(_ number: Int) throws -> Bool {
            let path = Destination.path(new.destination, numbered: number)
            return try job(at: path, of: list) != nil || isOccupied(path, for: new, in: queue)
        }
        var taken = 0
        var free = 1
        while try isTaken(free) { (taken, free) = (free, free * 2) }
        while free - taken > 1 {
            let middle = (taken + free) / 2
            if try isTaken(middle) { taken = middle } else { free = middle }
        }
        return Destination.path(new.destination, numbered: free)
    }
}
