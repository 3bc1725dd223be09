internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// Space for new downloads.
extension DownloadStore {
    /// How long a download that waits for its turn waits before it looks again.
    private static let pause: Duration = .milliseconds(50)

    /// Checks whether a download fits before its body is received, and waits for its turn under a binding size limit.
    ///
    /// Nothing is removed yet: room is made for the bytes that arrive.
    ///
    /// - Parameters:
    ///   - sync: The download.
    ///   - key: Its key.
    ///   - length: The bytes of the whole download; nil if that is unknown.
    ///   - replaced: The bytes that the body replaces.
    /// - Throws: ``StoreError``: `noSpace`, `overLimit`; `CancellationError`.
    func admit(_ sync: BlobSync, key: String, length: Int64?, replacing replaced: Int64) async throws {
        let isKnown = room.running.contains { $0.receiver === sync && $0.length == length }
        if isKnown { return }
        // A download that waits must not make others wait.
        room.end(sync)
        let rest = length.map { max($0.addingSaturating(replaced - sync.held), 0) }
        guard configuration.eviction.isBinding else {
            let free = try freeSpace()
            if rest ?? 0 > free {
                let space = try await space(sync, rest)
                try await requireRoom(for: length, space)
            }
            room.begin(sync, length: length)
            // A small download is not delayed.
            if free > 2 * SpaceDecision.records { sync.allow(SpaceDecision.records) }
            return
        }
        var isWaiting = false
        while true {
            if room.isFirst(sync) {
                // Read first: a download that ends later leaves room that this decision does not know of.
                let isAlone = room.running.isEmpty
                let space = try await space(sync, rest, replacing: replaced)
                let canFit = try await canRemove(space.missing)
                if canFit { break }
                if space.excess == 0 || isAlone {
                    try await requireRoom(for: length, space)
                }
            }
            if !isWaiting { configuration.onWaitForSpace?(key) }
            isWaiting = true
            try await Task.sleep(for: Self.pause)
        }
        room.begin(sync, length: length)
    }

    /// Makes room for the next bytes of a download that is running.
    ///
    /// - Throws: ``StoreError``: `noSpace` if the disk is full even without what may be removed, `overLimit` if a
    ///   binding size limit is reached.
    func makeRoom(for sync: BlobSync) async throws {
        guard let running = room.running.first(where: { $0.receiver === sync }) else { return sync.allow(1) }
        // Other processes see only what is recorded.
        if configuration.eviction.isBinding {
            try await Blocking.run { try sync.recordAll() }
        }
        let space = try await makeRoom(for: try await space(sync, running.rest)) {
            try await self.space(sync, running.rest)
        }
        if let refusal = space.refusal { throw self.refusal(refusal, of: running.length, space) }
        sync.allow(space.allowed)
    }

    /// Makes room for bytes that are copied into the store.
    ///
    /// - Throws: ``StoreError`` with `noSpace` or `overLimit`.
    func makeRoom(forCopy length: Int64) async throws {
        let space = try await space(nil, length, wanted: length)
        try await requireRoom(for: length, space)
        _ = try await makeRoom(for: space) { space }
    }

    /// Makes room for the records of a download on a full disk, as far as something may be removed.
    package func makeRoomForRecords() async throws {
        let missing = try SpaceDecision.records - freeSpace()
        if missing > 0 { try? await remove(missing) }
    }

    /// Removes what a decision requires, as far as possible.
    ///
    /// - Returns: The decision after that.
    private func makeRoom(
        for space: SpaceDecision, _ next: () async throws -> SpaceDecision
    ) async throws -> SpaceDecision {
        guard space.deficit > 0 else { return space }
        // A failing collection must not fail the download, since there may be enough space without it.
        try? await remove(space.deficit)
        return try await next()
    }

    /// Returns what is known of the space for a download.
    ///
    /// - Parameters:
    ///   - sync: The download; nil if its bytes are copied.
    ///   - rest: Its missing bytes.
    ///   - replaced: The bytes that the next ones replace.
    ///   - wanted: The bytes for which room is made next.
    /// - Returns: The decision.
    /// - Throws: ``StoreError``
    private func space(
        _ sync: BlobSync?, _ rest: Int64?, replacing replaced: Int64 = 0, wanted: Int64? = nil
    ) async throws -> SpaceDecision {
        let rule = configuration.eviction
        let limit = configuration.maximumSize
        let running = room.running
        let ids = running.compactMap(\.receiver.id)
        var left = try await read { connection in
            let total = try connection.totals().receivedBytes
            return try ids.reduce(limit.addingSaturating(-total)) { left, id in
                let row = try connection.integer("SELECT received FROM download WHERE id = ?", .integer(id))
                return left.addingSaturating(row ?? 0)
            }
        }
        left = left.addingSaturating(replaced)
        var others: Int64 = 0
        for download in running {
            let held = download.receiver.held
            // A download that is larger than the limit is an exception to it, not a reason to remove everything else.
            let isExcepted = !rule.isBinding && max(download.length ?? 0, held) > limit
            if !isExcepted {
                left = left.addingSaturating(-held)
            }
            if download.receiver !== sync {
                others = others.addingSaturating(download.rest ?? 0)
            }
        }
        if !rule.isBinding, rest ?? 0 > limit { left = .max }
        let step = max(min(SpaceDecision.step, limit / 16), 256 << 10)
        return SpaceDecision(
            rule, left: left, free: try freeSpace(), rest: rest, others: others, wanted: wanted ?? step)
    }

    /// Throws unless all announced bytes fit after what may be removed was removed.
    private func requireRoom(for length: Int64?, _ space: SpaceDecision) async throws {
        if try await canRemove(space.missing) { return }
        throw refusal(space.excess > 0 ? .limit : .disk, of: length, space)
    }

    /// Whether so many bytes may be removed, if any must be.
    private func canRemove(_ bytes: Int64) async throws -> Bool {
        if bytes <= 0 { return true }
        return try await collect(maximumSize: size(without: bytes), dryRun: true).freedBytes >= bytes
    }

    /// Removes so many bytes, if possible.
    private func remove(_ bytes: Int64) async throws {
        let before = try freeSpace()
        let freed = try await collect(maximumSize: size(without: bytes)).freedBytes
        // XFS frees the blocks of a removed file a moment later.
        for _ in 0..<100 where freed > 0 {
            if try freeSpace() > before { break }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func size(without bytes: Int64) async throws -> Int64 {
        max(try await totals().receivedBytes.addingSaturating(-bytes), 0)
    }

    private func refusal(_ refusal: SpaceDecision.Refusal, of length: Int64?, _ space: SpaceDecision) -> StoreError {
        let download = length.map { "the download has \($0) bytes" } ?? "the download goes on"
        let limit = configuration.maximumSize
        switch refusal {
        case .disk:
            return StoreError(
                .noSpace, "\(download), but only \(space.free) bytes are free at \(path)", remedy: .otherDisk)
        case .limit:
            // If it would not fit alone, it never will.
            return StoreError(
                length ?? 0 > limit ? .noSpace : .overLimit,
                "\(download), for which the limit of \(limit) bytes for the store at \(path) leaves no room",
                remedy: .limit)
        }
    }

    /// Returns the number of bytes that can still be written to the store's file system.
    ///
    /// - Throws: ``StoreError``.
    package func freeSpace() throws -> Int64 {
        try StoreError.refuseForkedChild()
        return try StoreError.wrapping { try folder.blobs.space() }
    }
}
