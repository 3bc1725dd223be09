import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// The rows of `queued` that are jobs: those with a list.
extension Connection {
    static let jobColumns = queuedColumns.replacing(" state,", with: " ifnull(ended, state),")
    /// Of a queue, from one ID to another, only those that are left or all, at most a number.
    static let range =
        "FROM queued WHERE +queue = ? AND id BETWEEN ? AND ? AND (NOT ? OR ended IS NULL) ORDER BY id LIMIT ?"
    private static let jobQuery = "SELECT \(jobColumns) FROM queued WHERE id = ? AND queue = ?"

    /// Returns the IDs in a range with their jobs, in order; nil for a row that cannot be read.
    ///
    /// The range is found by the row ID: an index of the queue would need all its rows sorted.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - ids: The range.
    ///   - onlyLeft: Whether to leave out jobs that are done or cancelled.
    ///   - limit: The maximum number of rows.
    /// - Returns: The rows.
    /// - Throws: `SQLiteError`.
    borrowing func jobs(
        in queue: Int64, ids: ClosedRange<Int64>, onlyLeft: Bool, limit: Int64
    ) throws -> [(id: Int64, job: Job?)] {
        try rows(
            "SELECT \(Self.jobColumns) \(Self.range)", queue, ids.lowerBound, ids.upperBound, onlyLeft, limit
        ) { row in row.integer(0).map { ($0, Self.job(row)) } }
    }

    borrowing func job(_ id: Int64, in queue: Int64) throws -> Job? {
        try first(Self.jobQuery, id, queue, body: Self.job)
    }

    /// Returns the jobs with some IDs, most of which follow one another, without those that cannot be read.
    borrowing func jobs(_ ids: [Int64], in queue: Int64) throws -> [Int64: Job] {
        let first = ids.min() ?? 0
        let last = ids.max() ?? 0
        // Planted IDs may be as far apart as numbers can be.
        let isDense = (0..<2 * Int64(ids.count)).contains(last &- first)
        let rows =
            isDense
            ? try jobs(in: queue, ids: first...last, onlyLeft: false, limit: .max)
            : try ids.map { (id: $0, job: try job($0, in: queue)) }
        return Dictionary(rows.compactMap { id, job in job.map { (id, $0) } }, uniquingKeysWith: { $1 })
    }

    /// Returns the destination of a job that is left to do and has a key; nil if there is none.
    borrowing func destinationOfJob(for key: String) throws -> String? {
        try text("SELECT destination FROM queued WHERE key = ? AND list <> 0 AND ended IS NULL LIMIT 1", key)
    }

    /// Records jobs of a list.
    ///
    /// - Parameters:
    ///   - new: The jobs.
    ///   - listing: The list that they belong to from now on.
    ///   - areNew: Whether each has another destination than all other jobs of the list, and none gets a number.
    /// - Returns: What became of each.
    /// - Throws: `SQLiteError`.
    borrowing func enlist(
        _ new: [JobTable.NewJob], as listing: JobTable.Listing, areNew: Bool
    ) throws -> [JobTable.Enlisted] {
        if areNew { return try insert(new, as: listing) }
        return try new.flatMap { job in
            var job = job
            let first = job.isNamedByServer ? nil : try self.job(at: job.destination, of: listing.list)
            if let first, first.key == job.key, first.terms == job.terms { return [JobTable.Enlisted.repeated] }
            if let first, !listing.renames { return [.clash(first.position, url: first.url)] }
            let isNumbered = listing.renames && !job.isNamedByServer
            if isNumbered, try first != nil || isOccupied(job.destination, for: job, in: listing.queue) {
                guard try !has(job, in: listing.list) else { return [.repeated] }
                let earlier = try earlierPath(for: job, in: listing.queue, of: listing.list)
                job.destination = try earlier ?? freePath(for: job, in: listing.queue, of: listing.list)
            }
            return try insert([job], as: listing)
        }
    }

    /// Records jobs of which the list has none; a single one may have been there before.
    private borrowing func insert(_ new: [JobTable.NewJob], as listing: JobTable.Listing) throws -> [JobTable.Enlisted]
    {
        var results: [JobTable.Enlisted] = []
        // RETURNING would take twice as long as the rest.
        try insert(
            """
            \(Self.unchecked) INSERT INTO queued (
                queue, key, url, destination, state, priority, forced, position, terms, list)
            """, "(?, ?, ?, ?, 'waiting', 0, 0, ?, ?, ?)",
            new.map { job in
                [
                    .integer(listing.queue), .text(job.key), .text(job.url), .text(job.destination),
                    .integer(job.position), job.terms.map { .text($0) } ?? .null, .integer(listing.list),
                ]
            }, ending: "ON CONFLICT DO NOTHING"
        ) { part, count in
            // The IDs follow one another, unless a row was in the way of one.
            for (index, job) in zip(part, new[part]) {
                results.append(
                    count == part.count
                        ? .due(lastInsertRowID &- Int64(part.upperBound - 1 - index), destination: job.destination)
                        : try enlistAgain(job, as: listing, isNew: new.count > 1))
            }
        }
        return results
    }

    /// Records a job again that may have a row, which is that of an earlier list or, for a new job, was just inserted.
    private borrowing func enlistAgain(_ job: JobTable.NewJob, as listing: JobTable.Listing, isNew: Bool) throws
        -> JobTable.Enlisted
    {
        // A row that cannot be read is replaced.
        let known = try first(
            "SELECT \(Self.jobColumns) FROM queued WHERE queue = ? AND key = ? AND destination = ?",
            listing.queue, job.key, job.destination, body: Self.job)
        if let known, known.list == listing.list {
            if isNew { return .due(known.id, destination: job.destination) }
            // The same resource with other secrets is not a second job.
            return known.terms == job.terms ? .repeated : .clash(known.position, url: known.url)
        }
        var file: DeliveredFile?
        if let known, let delivered = known.file, delivered.requester == job.identity().code(listing.key),
            listing.isAnswered(job, known)
        {
            file = delivered
            if known.state == .done, listing.unfinished.contains(known.list) {
                try run("UPDATE queued SET list = ?, position = ? WHERE id = ?", listing.list, job.position, known.id)
                return .done(known)
            }
        }
        let id = try integer(
            """
            UPDATE queued SET list = ?, position = ?, url = ?, terms = ?, file = ?, state = 'waiting', ended = NULL,
                failure = iif(failure LIKE 'on-complete%', failure, NULL), attempts = iif(state = 'failed', 0, attempts)
            WHERE queue = ? AND key = ? AND destination = ? RETURNING id
            """, listing.list, job.position, job.url, job.terms, file?.stored, listing.queue, job.key, job.destination)
        // The row was in the way of a new one, and is not there: an index and its table do not agree.
        guard let id else {
            throw StoreError(.damaged, "the store's index of jobs is damaged", remedy: .rebuild)
        }
        return .due(id, destination: job.destination)
    }

    /// Returns the job of a list with a destination.
    borrowing func job(
        at path: String, of list: Int64
    ) throws -> (key: String?, terms: String?, position: Int64, url: String)? {
        try first("SELECT key, terms, position, url FROM queued WHERE destination = ? AND list = ?", path, list) {
            ($0.text(0), $0.text(1), $0.integer(2) ?? 0, $0.text(3) ?? "")
        }
    }

    /// Whether a list has the same job with another destination.
    private borrowing func has(_ job: JobTable.NewJob, in list: Int64) throws -> Bool {
        let sql = "SELECT 1 FROM queued WHERE key = ? AND list = ? AND terms IS ? LIMIT 1"
        return try integer(sql, job.key, list, job.terms) != nil
    }

    /// Records the state of a job.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - queue: The queue.
    ///   - state: The state.
    ///   - failure: Why its last run failed.
    ///   - isRun: Whether a run of it has ended.
    ///   - unchanged: The path and the URL of a file in place, whose record the job takes over if it has none: it may
    ///     have other terms than the job that brought the file.
    /// - Throws: `SQLiteError`.
    borrowing func setJob(
        _ id: Int64, in queue: Int64, to state: Job.State, because failure: Reason?, isRun: Bool,
        unchanged: (path: String, url: String)? = nil
    ) throws {
        let columns = state.columns
        try run(
            """
            UPDATE queued SET state = ?, ended = ?, failure = ?, attempts = attempts + ?,
                file = ifnull(file, (SELECT file FROM delivered WHERE path = ? AND url = ?)) WHERE id = ? AND queue = ?
            """, columns.state, columns.ended,
            failure?.stored, isRun, unchanged?.path, unchanged?.url, id, queue)
    }
}
