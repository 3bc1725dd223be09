import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// Space for new downloads.
extension Collector {
    /// How long a download that waits for its turn waits before it looks again.
    private static let pause: Duration = .milliseconds(50)
    /// How often it looks while others are to come back: longer than these wait for others at their origin.
    private static let mostLooks = 700

    /// Checks whether a download fits before its body is received, and waits for its turn under a binding size limit.
    ///
    /// Nothing is removed yet: room is made for the bytes that arrive.
    ///
    /// - Parameters:
    ///   - writer: The download.
    ///   - key: Its key.
    ///   - length: The bytes of the whole download; nil if that is unknown.
    ///   - replaced: The bytes that the body replaces.
    /// - Throws: ``StoreError``: `noSpace`, `overLimit`; `CancellationError`.
    func admit(_ writer: any StoreRoom.Receiver, key: String, length: Int64?, replacing replaced: Int64) async throws {
        if store.room.isRunning(writer, length: length) { return }
        // A download that waits must not make others wait.
        store.room.leave(writer)
        let rest = length.map { max($0.addingSaturating(replaced - writer.held), 0) }
        let isBinding = store.configuration.eviction.isBinding
        let free = try store.freeSpace()
        var looks = 0
        while isBinding || rest ?? 0 > free {
            if store.room.isFirst(writer) {
                // Read first: a download that ends later leaves room that this decision does not know of. One that has left
                // its room comes back within half a minute, or waits for what this one has.
                let isAlone = store.room.isAlone(writer) || looks > Self.mostLooks && store.room.running.isEmpty
                let space = try await space(writer, rest, replacing: replaced)
                if try await canRemove(space.missing) { break }
                if space.excess == 0 || isAlone { throw try await refusal(of: length, space, to: writer) }
            }
            if looks == 0 { store.configuration.onWaitForSpace?(key) }
            looks += 1
            try await Task.sleep(for: Self.pause)
        }
        store.room.begin(writer, length: length)
        guard !isBinding, free > 2 * SpaceDecision.records else { return }
        if store.configuration.eviction == .leastRecentlyUsed {
            let space = try await space(writer, rest, replacing: replaced, wanted: SpaceDecision.records)
            // A small download may have no row while its bytes arrive, so that no later decision would count them.
            let isSmall = rest ?? .max <= SpaceDecision.records
            if space.deficit > 0, !isSmall { return }
            if space.deficit > 0 { try? await remove(space.deficit) }
        }
        // A small download is not delayed.
        writer.allow(SpaceDecision.records)
    }

    /// Makes room for the next bytes of a download that is running.
    ///
    /// - Throws: ``StoreError``: `noSpace` if the disk is full even without what may be removed, `overLimit` if a
    ///   binding size limit is reached.
    func makeRoom(for writer: any StoreRoom.Receiver) async throws {
        let running = store.room.running
        let length = running.first { $0.receiver === writer }?.length
        let rest = length.map { max($0.addingSaturating(-writer.held), 0) }
        let held = running.sum { $0.receiver.held }
        var space = try await space(writer, rest, replacing: -held)
        // Recording takes a commit for each download, and only what is recorded counts for other processes.
        if store.configuration.eviction.isBinding || space.deficit > 0 {
            try await Blocking.run {
                for download in running { try? download.receiver.recordAll() }
            }
            space = try await self.space(writer, rest)
        }
        if space.deficit > 0 {
            // A failing collection must not fail the download, since there may be enough space without it.
            try? await remove(space.deficit)
            space = try await self.space(writer, rest)
        }
        if space.refusal != nil { throw try await refusal(of: length, space, to: writer) }
        writer.allow(space.allowed)
    }

    /// Makes room for bytes that are copied into the store.
    ///
    /// - Throws: ``StoreError`` with `noSpace` or `overLimit`.
    func makeRoom(forCopy length: Int64) async throws {
        let space = try await space(nil, length, wanted: length)
        guard try await canRemove(space.missing) else { throw try await refusal(of: length, space, to: nil) }
        if space.deficit > 0 { try? await remove(space.deficit) }
    }

    /// Makes room for the records of a download on a full disk, as far as something may be removed.
    package func makeRoomForRecords() async throws {
        let missing = try SpaceDecision.records - store.freeSpace()
        if missing > 0 { try? await remove(missing) }
    }

    /// Returns what is known of the space for a download.
    ///
    /// - Parameters:
    ///   - writer: The download; nil if its bytes are copied.
    ///   - rest: Its missing bytes.
    ///   - replaced: The bytes that the next ones replace.
    ///   - wanted: The bytes for which room is made next.
    /// - Returns: The decision.
    /// - Throws: ``StoreError``
    private func space(
        _ writer: (any StoreRoom.Receiver)?, _ rest: Int64?, replacing replaced: Int64 = 0, wanted: Int64? = nil
    ) async throws -> SpaceDecision {
        let rule = store.configuration.eviction
        let limit = store.configuration.maximumSize
        let others = store.room.running.filter { $0.receiver !== writer }.sum(\.rest)
        var left = try await limit.addingSaturating(replaced - store.totals().receivedBytes)
        // A download that is larger than the limit is an exception to it, not a reason to remove everything else.
        let length = rest?.addingSaturating(writer?.held ?? 0) ?? 0
        if !rule.isBinding, length > limit { left = .max }
        let step = max(min(SpaceDecision.step, limit / 16), 256 << 10)
        return SpaceDecision(
            rule, left: left, free: try store.freeSpace(), rest: rest, others: others, wanted: wanted ?? step)
    }

    /// Whether so many bytes may be removed, if any must be.
    private func canRemove(_ bytes: Int64) async throws -> Bool {
        if bytes <= 0 { return true }
        return try await collect(removing: bytes, dryRun: true) >= bytes
    }

    private func collect(removing bytes: Int64, dryRun: Bool) async throws -> Int64 {
        let size = try await store.totals().receivedBytes.addingSaturating(-bytes)
        return try await collect(maximumSize: max(size, 0), dryRun: dryRun).freedBytes
    }

    /// Removes so many bytes, if possible.
    private func remove(_ bytes: Int64) async throws {
        let before = try store.freeSpace()
        let freed = try await collect(removing: bytes, dryRun: false)
        // XFS frees the blocks of a removed file a moment later.
        for _ in 0..<100 where freed > 0 {
            if try store.freeSpace() > before { break }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func refusal(of length: Int64?, _ space: SpaceDecision, to writer: (any StoreRoom.Receiver)?) async throws
        -> StoreError
    {
        let download = length.map { sentence("room-for", $0) } ?? sentence("room-for-more")
        let limit = store.configuration.maximumSize
        guard space.refusal == .limit || space.excess > 0 else {
            let reason = Reason("disk-full", with: download, space.free, store.path)
            return StoreError(.noSpace, reason, remedy: .otherDisk)
        }
        // If it would not fit alone, it never will.
        let isTooLong = length ?? 0 > limit
        let others = try await store.totals().receivedBytes - (writer?.held ?? 0)
        let use = isTooLong || others <= 0 ? "" : sentence("room-of-others", others)
        let reason = Reason("store-full", with: download, store.path, limit, use)
        return StoreError(isTooLong ? .noSpace : .overLimit, reason, remedy: .limit)
    }

}
