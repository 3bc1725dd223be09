internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// The rows of `queued` that are jobs: those with a list.
extension Connection {
    private static let jobColumns =
        "id, key, url, destination, ifnull(ended, state), attempts, list, terms, failure, file"

    private static func job(_ row: borrowing Row) -> Job? {
        guard let id = row.integer(0), let key = row.text(1), let url = row.text(2), let destination = row.text(3),
            let state = row.text(4).flatMap(Job.State.init), let attempts = row.integer(5), let list = row.integer(6)
        else { return nil }
        return Job(
            id: id, key: key, url: url, destination: destination, state: state, attempts: attempts, list: list,
            terms: row.text(7), failure: row.text(8).map { Reason(stored: $0) },
            file: row.text(9).flatMap(DeliveredFile.init(stored:)))
    }

    /// Returns the jobs after an ID, in the order in which they were given.
    borrowing func jobs(in queue: Int64, after id: Int64, limit: Int64) throws -> [Job?] {
        try rows(
            "SELECT \(Self.jobColumns) FROM queued WHERE queue = ? AND id > ? ORDER BY id LIMIT ?", .integer(queue),
            .integer(id), .integer(limit)
        ) { Self.job($0) }
    }

    borrowing func job(_ id: Int64, in queue: Int64) throws -> Job? {
        try rows(
            "SELECT \(Self.jobColumns) FROM queued WHERE id = ? AND queue = ?", .integer(id), .integer(queue)
        ) { Self.job($0) }.first ?? nil
    }

    /// Returns the lists that have something left to do.
    borrowing func unfinishedLists(in queue: Int64) throws -> Set<Int64> {
        Set(
            try rows(
                "SELECT DISTINCT list FROM queued WHERE queue = ? AND state <> 'failed'", .integer(queue)
            ) { $0.integer(0) }.compactMap { $0 })
    }

    /// Records a job of a list.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - queue: The queue.
    ///   - list: The list that it belongs to from now on.
    ///   - unfinished: The lists that had something left to do; their jobs stay done.
    ///   - key: The key of the store's hashes.
    /// - Returns: The job, and what was known of it.
    /// - Throws: `SQLiteError`.
    borrowing func enlist(
        _ job: NewJob, in queue: Int64, as list: Int64, unfinished: Set<Int64>, _ key: [UInt8]
    ) throws -> EnlistedJob {
        let known =
            try rows(
                "SELECT \(Self.jobColumns) FROM queued WHERE queue = ? AND key = ? AND destination = ?",
                .integer(queue), .text(job.key), .text(job.destination)
            ) { Self.job($0) }.first ?? nil
        if let known {
            let isSame = known.file?.requester.map { $0 == job.identity.code(key) } ?? false
            let isDone = known.state == .done && unfinished.contains(known.list)
            if isDone {
                try run("UPDATE queued SET list = ? WHERE id = ?", .integer(list), .integer(known.id))
            } else {
                try run(
                    """
                    UPDATE queued SET list = ?, url = ?, terms = ?, state = 'waiting', ended = NULL,
                        failure = NULL, attempts = iif(state = 'failed', 0, attempts) WHERE id = ?
                    """, .integer(list), .text(job.url), .optional(job.terms), .integer(known.id))
            }
            return EnlistedJob(id: known.id, known: known, isDone: isDone, isOfSameRequest: isSame)
        }
        // A row that cannot be read is replaced.
        let id = try integer(
            """
            INSERT INTO queued (queue, key, url, destination, state, priority, forced, position, terms, list)
            VALUES (?, ?, ?, ?, 'waiting', 0, 0, 0, ?, ?)
            ON CONFLICT (queue, key, destination) DO UPDATE SET url = excluded.url, state = excluded.state,
                terms = excluded.terms, list = excluded.list, failure = NULL, ended = NULL, file = NULL
            RETURNING id
            """, .integer(queue), .text(job.key), .text(job.url), .text(job.destination), .optional(job.terms),
            .integer(list))
        return EnlistedJob(id: id ?? 0, known: nil, isDone: false, isOfSameRequest: false)
    }

    /// Marks a job as running, unless it is done or cancelled and is not to run again.
    ///
    /// - Returns: Whether it is to run.
    borrowing func beginJob(_ id: Int64, in queue: Int64, again: Bool) throws -> Bool {
        try integer(
            """
            UPDATE queued SET state = 'running', ended = NULL, attempts = attempts + 1
            WHERE id = ? AND queue = ? AND (ended IS NULL OR ?) RETURNING id
            """, .integer(id), .integer(queue), .flag(again)) != nil
    }

    borrowing func setJob(_ id: Int64, in queue: Int64, to state: Job.State, because failure: Reason?) throws {
        let isEnded = state == .done || state == .cancelled
        try run(
            "UPDATE queued SET state = ?, ended = ?, failure = ? WHERE id = ? AND queue = ?",
            .text(isEnded ? Job.State.failed.rawValue : state.rawValue), .optional(isEnded ? state.rawValue : nil),
            .optional(failure?.stored), .integer(id), .integer(queue))
    }

    /// Records the delivery of a request: the row of a program's queue is removed, a job is done.
    ///
    /// The file is recorded only if it lies where the row says. If the server has named it, another file may lie there.
    borrowing func fulfil(_ id: Int64, with file: DeliveredFile?, at path: String) throws {
        try run("DELETE FROM queued WHERE id = ? AND list = 0", .integer(id))
        try run(
            """
            UPDATE queued SET state = 'failed', ended = 'done', failure = NULL, file = iif(destination = ?, ?, NULL)
            WHERE id = ?
            """, .text(path), .optional(file?.stored), .integer(id))
    }

    /// Removes jobs that are done, if their lists are too: those of before a time, and all but the newest ones.
    borrowing func pruneJobs(in queue: Int64, doneBefore time: Int64, most: Int64) throws {
        // The text begins with the time. A job without one is of no use to a later run.
        try run(
            """
            DELETE FROM queued WHERE queue = ?1 AND ended = 'done'
                AND (CAST(ifnull(file, 0) AS INTEGER) < ?2 OR id <= ifnull(
                    (SELECT id FROM queued WHERE queue = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?3), 0))
                AND list NOT IN (SELECT list FROM queued WHERE queue = ?1 AND state <> 'failed')
            """, .integer(queue), .integer(time), .integer(most))
    }
}

/// The file of a job as a text.
extension DeliveredFile {
    /// The words, of which the last one may contain spaces.
    ///
    /// Bytes are hexadecimal digits, and nil is `-`.
    var stored: String {
        let hexadecimal: ([UInt8]?) -> String = { bytes in
            bytes.map { "x" + Hexadecimal.text($0) } ?? "-"
        }
        let words = [
            String(WallClock.milliseconds), String(size), String(modifiedAt), hexadecimal(requester),
            hexadecimal(entityTag), lastModified ?? "-",
        ]
        return words.joined(separator: " ")
    }

    /// Parses a stored text; nil if it was damaged or manipulated.
    init?(stored: String) {
        let words = stored.split(separator: " ", maxSplits: 5)
        guard words.count == 6, let size = Int64(words[1]), let modifiedAt = Int64(words[2]) else { return nil }
        let bytes: (Substring) -> [UInt8]? = { word in
            word.first == "x" ? Hexadecimal.bytes(word.dropFirst()) : nil
        }
        self.init(
            size: size, modifiedAt: modifiedAt, entityTag: bytes(words[4]),
            lastModified: words[5] == "-" ? nil : String(words[5]), requester: bytes(words[3]))
    }
}
