internal import ResumeSQLite

/// The rows of `queue` and `queued`.
extension Connection {
    /// The number of a queue, which is made where there is none.
    borrowing func queue(named name: String) throws -> Int64 {
        try run("INSERT INTO queue (name) VALUES (?) ON CONFLICT (name) DO NOTHING", .text(name))
        return try integer("SELECT id FROM queue WHERE name = ?", .text(name)) ?? 0
    }

    /// The queues by number.
    borrowing func queues() throws -> [(id: Int64, name: String)] {
        try rows("SELECT id, name FROM queue ORDER BY id") { row in
            row.integer(0).flatMap { id in row.text(1).map { (id, $0) } }
        }.compactMap { $0 }
    }

    /// The requests of a queue, those first that run first.
    ///
    /// A row that cannot be read is left out, not a failure of all.
    borrowing func queued(in queue: Int64) throws -> [QueuedRequest] {
        try rows(
            """
            SELECT id, key, url, destination, state, priority, forced, position, terms FROM queued WHERE queue = ?
            ORDER BY priority DESC, state = 'running' DESC, position DESC, id
            """, .integer(queue)
        ) { row -> QueuedRequest? in
            guard let id = row.integer(0), let key = row.text(1), let url = row.text(2), let destination = row.text(3),
                let state = row.text(4).flatMap({ QueuedRequest.State(rawValue: $0) }), let priority = row.integer(5),
                let position = row.integer(7)
            else { return nil }
            return QueuedRequest(
                id: id, key: key, url: url, destination: destination, state: state, priority: priority,
                isForced: row.integer(6) == 1, position: min(max(position, -Self.largest), Self.largest),
                terms: row.text(8))
        }.compactMap { $0 }
    }

    /// Adds a request, or changes the one that is there.
    ///
    /// - Returns: The row's number.
    borrowing func setQueued(_ request: QueuedRequest, in queue: Int64) throws -> Int64 {
        if let id = request.id {
            // One that was delivered meanwhile must not come back.
            try run(
                """
                UPDATE queued SET url = ?, state = ?, priority = ?, forced = ?, position = ?, terms = ?
                WHERE id = ? AND queue = ?
                """, .text(request.url), .text(request.state.rawValue), .integer(request.priority),
                .flag(request.isForced), .integer(request.position), .optional(request.terms), .integer(id),
                .integer(queue))
            return id
        }
        let id = try integer(
            """
            INSERT INTO queued (queue, key, url, destination, state, priority, forced, position, terms)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (queue, key, destination) DO UPDATE SET url = excluded.url, state = excluded.state,
                priority = excluded.priority, forced = excluded.forced, position = excluded.position,
                terms = excluded.terms
            RETURNING id
            """, .integer(queue), .text(request.key), .text(request.url), .text(request.destination),
            .text(request.state.rawValue), .integer(request.priority), .flag(request.isForced),
            .integer(request.position), .optional(request.terms))
        return id ?? 0
    }

    /// Takes a request away, since it was delivered.
    borrowing func removeQueued(_ id: Int64) throws {
        try run("DELETE FROM queued WHERE id = ?", .integer(id))
    }

    /// Takes a request of a queue away, since it is not wanted any more.
    borrowing func removeQueued(_ id: Int64, from queue: Int64) throws {
        try run("DELETE FROM queued WHERE id = ? AND queue = ?", .integer(id), .integer(queue))
    }
}
