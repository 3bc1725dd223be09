public import HTTPTypes
public import ResumeHTTP
import Synchronization

/// A store of partial downloads in memory, for small media that should not be written to disk.
///
/// Its size is limited: the least recently used entries are removed first, but never those in use. It is used like a
/// ``DownloadStore`` and makes the same decisions. Its contents end with the process unless they are moved to disk with
/// ``promote(_:to:waits:)``. All tasks of a process may share one.
///
/// ```swift
/// let store = MemoryStore()
/// let image = try await store.fetch(url) { fields in try await get(fields) }
/// ```
public final class MemoryStore: PartialStore {
    private struct State {
        var shelf: MemoryShelf
        /// The tasks that wait for an entry, in order.
        var waiters: [String: [AsyncStream<MemoryShelf.Held>.Continuation]] = [:]
    }

    /// The maximum total size of all entries in bytes, including those in use.
    private let maximumSize: Int
    private let maximumEntrySize: Int
    private let state: Mutex<State>
    /// Where the bytes go instead of being kept; nil for a store that keeps them.
    private let passed: PassedBytes?
    /// The key of the hashes that identify requesters.
    let identityKey = HashKey.random()

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - maximumSize: The maximum total size of all entries in bytes, including those in use.
    ///   - maximumEntries: The maximum number of entries, which only entries in use may exceed.
    ///   - maximumEntrySize: The maximum size of one entry in bytes; larger files belong on disk.
    public init(maximumSize: Int = 32 << 20, maximumEntries: Int = 100, maximumEntrySize: Int = 8 << 20) {
        self.maximumSize = max(maximumSize, 0)
        self.maximumEntrySize = min(max(maximumEntrySize, 0), self.maximumSize)
        state = Mutex(
            State(shelf: MemoryShelf(maximumSize: self.maximumSize, maximumEntries: max(maximumEntries, 0))))
        passed = nil
    }

    /// Whether the bytes go to a reader instead of being kept.
    var passesOn: Bool { passed != nil }

    /// Makes a store for one download, whose bytes go to a reader.
    package init(passing passed: PassedBytes) {
        self.passed = passed
        maximumSize = .max
        maximumEntrySize = .max
        state = Mutex(State(shelf: MemoryShelf(maximumSize: .max, maximumEntries: 1)))
    }

    /// All entries, sorted by key; of one in use, the state when that began.
    public var entries: [DownloadStore.Entry] { state.withLock { $0.shelf.contents } }

    /// The total capacity reserved for all entries in bytes.
    package var size: Int { state.withLock { $0.shelf.size } }

    /// Returns how many tasks wait for an entry.
    func waiterCount(key: String) -> Int { state.withLock { $0.waiters[key]?.count ?? 0 } }

    /// Removes all idle entries, for example after a memory warning.
    public func removeAll() {
        state.withLock { $0.shelf.removeIdle() }
    }

    /// Opens a download exclusively; see
    /// ``PartialStore/open(_:headerFields:key:selection:policy:waits:)`` for the parameters.
    ///
    /// - Throws: ``StoreError``, with `inUse` if it does not wait; `CancellationError`.
    public func open(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), waits: Bool = true
    ) async throws -> Transfer {
        let caller = Caller(url: url, headerFields: headerFields, policy: policy)
        let name = DownloadName.of(url, named: key, selection: selection)
        let variants = state.withLock { $0.shelf.variants(of: name) }
        let variant = variants.best(for: caller.identity, key: identityKey) ?? 1
        let fresh = Entry(unclaimed: name, variant: variant, caller, selection)
        var held = try await take(fresh.key, orElse: fresh, waits: waits) ?? MemoryShelf.Held(entry: fresh)
        // A custom key may equal the key of other ranges or variants.
        if held.entry.variant != variant || held.entry.selection != selection {
            held = MemoryShelf.Held(entry: fresh)
        }
        let access = caller.access(to: held.entry, identityKey)
        let stored = Recovered(entry: held.entry, blob: held.blob)
        let transfer = Transfer(stored, in: .memory(self), caller: caller, access: access)
        // A caller that was cancelled while it got the lease releases it for the next one.
        try Task.checkCancellation()
        try await transfer.leaveUnwantedCoding()
        return transfer
    }

    /// Moves a partial download to a store on disk, so that it survives the process.
    ///
    /// - Parameters:
    ///   - download: Its key or URL.
    ///   - disk: The store.
    ///   - waits: Whether to wait if another task is using the download, or to fail.
    /// - Returns: How many bytes were moved.
    /// - Throws: ``StoreError`` if there is no such download, with `inUse` if it is in use and `waits` is false, or
    ///   an error of the store on disk, such as `noSpace`. Then the data in memory is kept.
    @discardableResult
    public func promote(
        _ download: some DownloadKeyConvertible, to disk: DownloadStore, waits: Bool = true
    ) async throws -> Int64 {
        let key = download.downloadKey.rawValue
        guard let held = try await take(key, orElse: nil, waits: waits) else {
            throw StoreError.nothingHeld(key)
        }
        let url = try DownloadURL(held.entry.url)
        let caller = Caller(url: url, identity: held.blob?.owner, policy: ResumePolicy())
        let transfer = Transfer(
            Recovered(entry: held.entry, blob: held.blob), in: .memory(self), caller: caller)
        do {
            let moved = try await transfer.promote(to: disk)
            let count = await moved.receivedBytes
            try await moved.close()
            return count
        } catch {
            try? await transfer.close()
            throw error
        }
    }
}

/// The interface for transfers.
extension MemoryStore {
    /// Takes the lease of an entry.
    ///
    /// - Returns: The entry; nil if there is none and none was to be added.
    private func take(_ key: String, orElse fresh: Entry?, waits: Bool) async throws -> MemoryShelf.Held? {
        let (stream, waiter) = AsyncStream<MemoryShelf.Held>.makeStream()
        let taking = state.withLock { state in
            let taking = state.shelf.take(key, orElse: fresh)
            if case .inUse = taking, waits { state.waiters[key, default: []].append(waiter) }
            return taking
        }
        switch taking {
        case .taken(let held): return held
        case .absent: return nil
        case .inUse where !waits: throw StoreError.inUse(key)
        case .inUse:
            for await held in stream { return held }
            state.withLock { $0.waiters[key]?.removeAll { $0 == waiter } }
            throw CancellationError()
        }
    }

    /// Reserves capacity for an entry in use.
    ///
    /// - Parameters:
    ///   - range: The required and the desired capacity in bytes.
    ///   - key: The key of the entry.
    /// - Returns: The granted capacity in bytes.
    /// - Throws: ``StoreError`` with `noSpace` if all other entries are in use as well.
    private func reserve(_ range: ClosedRange<Int>, for key: String) throws -> Int {
        if let granted = state.withLock({ $0.shelf.reserve(key, range) }) { return granted }
        throw StoreError(.noSpace, Reason("full", with: maximumSize))
    }

    /// Throws if an entry may not have that many bytes.
    func requireRoom(for length: Int64?) throws(StoreError) {
        guard let length, length > maximumEntrySize else { return }
        throw StoreError.tooLarge(length, limit: Int64(maximumEntrySize))
    }

    /// Creates an empty blob for an entry in use.
    func makeBlob(of entry: Entry, for owner: RequestIdentity?) -> any BodyStorage {
        if let passed {
            let isWhole = entry.selection == nil
            passed.restart(announced: isWhole ? HTTPDigest(field: entry.representation?.reprDigest) : nil)
            return passed
        }
        let most = maximumEntrySize
        return MemoryBlob(owner: owner, limit: min(entry.totalBytes.flatMap { Int(exactly: $0) } ?? most, most)) {
            [unowned self, key = entry.key] in try self.reserve($0, for: key)
        }
    }

    /// Takes an empty entry for another representation of a download.
    ///
    /// - Throws: ``StoreError`` with `inUse` if all possible variants are in use.
    func takeVariant(of entry: Entry, for caller: Caller) throws(StoreError) -> Entry {
        let own = state.withLock {
            $0.shelf.takeVariant(of: entry.name) { Entry(unclaimed: entry.name, variant: $0, caller, entry.selection) }
        }
        guard let own else { throw StoreError.inUse(entry.key) }
        return own
    }

    /// Frees the capacity of an entry in use whose blob was discarded.
    func giveUp(_ key: String) {
        state.withLock { _ = $0.shelf.reserve(key, 0...0) }
    }

    /// Passes an entry to the next waiting task, or returns it to the store.
    ///
    /// - Parameters:
    ///   - held: The entry and its bytes.
    ///   - goes: Whether to remove it if no task waits for it.
    func giveBack(_ held: MemoryShelf.Held, goes: Bool) {
        let key = held.entry.key
        // A blob that is removed with its last reference needs no trimming.
        if !goes { held.blob?.trim() }
        let size = held.blob?.room ?? 0
        state.withLock { state in
            while let next = state.waiters[key]?.first {
                state.waiters[key]?.removeFirst()
                // Not if its task was cancelled.
                guard case .enqueued = next.yield(held) else { continue }
                return state.shelf.update(MemoryShelf.Held(entry: held.entry), size: size)
            }
            state.waiters[key] = nil
            state.shelf.update(held, size: size)
            if goes { state.shelf.remove(key) } else { state.shelf.putBack(key) }
        }
    }
}
