public import HTTPTypes
public import ResumeHTTP
internal import Synchronization

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
    /// The limits.
    public struct Configuration: Sendable {
        /// The maximum total size of all entries in bytes, including those in use.
        public var maximumSize: Int
        /// The maximum number of entries, which only entries in use may exceed.
        public var maximumEntries: Int
        /// The maximum size of one entry in bytes; larger files belong on disk.
        public var maximumEntrySize: Int

        /// Makes limits; the defaults are 32 MiB in total, 100 entries, and 8 MiB per entry.
        public init(maximumSize: Int = 32 << 20, maximumEntries: Int = 100, maximumEntrySize: Int = 8 << 20) {
            self.maximumSize = max(maximumSize, 0)
            self.maximumEntries = max(maximumEntries, 0)
            self.maximumEntrySize = min(max(maximumEntrySize, 0), self.maximumSize)
        }
    }

    /// One download in the store.
    public struct Entry: Sendable, Hashable {
        /// The key.
        public var key: String
        /// The URL of the last request, without user info and signature.
        public var url: String
        /// The number of received bytes; while it is in use, the number when that began.
        public var bytes: Int64
        /// Whether a task is using it.
        public var isInUse: Bool
    }

    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<MemoryPartial?, any Error>
    }

    private struct State {
        var shelf: MemoryShelf
        var waiters: [String: [Waiter]] = [:]
        var lastWaiter: UInt64 = 0
    }

    /// The limits.
    public let configuration: Configuration
    private let state: Mutex<State>
    /// The key of the hashes that identify requesters.
    let identityKey: [UInt8]

    /// Makes an empty store.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        state = Mutex(State(shelf: MemoryShelf(configuration)))
        identityKey = RequestIdentity.newKey()
    }

    /// All entries, sorted by key.
    public var entries: [Entry] { state.withLock { $0.shelf.contents } }

    /// The total capacity reserved for all entries in bytes.
    public var size: Int { state.withLock { $0.shelf.size } }

    /// Returns how many tasks wait for an entry.
    package func waiterCount(key: String) -> Int { state.withLock { $0.waiters[key]?.count ?? 0 } }

    /// Removes all idle entries, for example after a memory warning.
    public func removeAll() {
        state.withLock { $0.shelf.removeIdle() }
    }

    /// Opens a download and takes its lease, so that no other task can use it.
    ///
    /// - Parameters:
    ///   - url: The URL that will be requested.
    ///   - headerFields: The caller's own header fields, including credentials. Callers that send the same fields to
    ///     the same URL get a complete download without a request; all others, and callers that pass nil, ask the
    ///     server first.
    ///   - key: The key of the download; nil for the URL without user info and signature.
    ///   - selection: The ranges to download; nil for the whole representation. Each selection is a separate download.
    ///   - policy: The conditions for resuming.
    ///   - waits: Whether to wait if another task is using the download, or to fail.
    /// - Returns: The transfer. Close or release it to let the next task use the entry.
    /// - Throws: ``StoreError``, with `inUse` if it is in use and `waits` is false; `CancellationError`.
    public func begin(
        _ url: DownloadURL, headerFields: HTTPFields? = nil, key: String? = nil, selection: RangeSelection? = nil,
        policy: ResumePolicy = ResumePolicy(), waits: Bool = true
    ) async throws -> MemoryTransfer {
        let name = key.map { Variant.withoutNumber(DownloadURL.redactedKey($0)) } ?? url.redacted
        var caller = Caller(url: url, headerFields: headerFields, policy: policy)
        var fresh = MemoryPartial(url: url, name: name, selection: selection)
        let (identity, whole) = (caller.identity, fresh.key)
        fresh.variant = state.withLock { $0.shelf.variants(of: whole) }.best(for: identity, key: identityKey) ?? 1
        var partial = try await take(fresh.key, orElse: fresh, waits: waits) ?? fresh
        // A custom key may equal the key of other ranges or variants.
        if partial.key != fresh.key || partial.selection != selection { partial = fresh }
        let access = caller.access(to: partial.requester, isEmpty: partial.isEmpty, identityKey)
        caller.policy = policy.moving(from: partial.url.redacted, to: url)
        if access != .foreign { partial.url = url }
        let transfer = MemoryTransfer(store: self, partial: partial, caller: caller, access: access)
        // A caller that was cancelled while it got the lease releases it for the next one.
        try Task.checkCancellation()
        // Encoded bytes are useless to a caller that wants the decoded file, even if they are complete.
        if partial.representation?.contentCoding != nil, !policy.storesCoded {
            try await transfer.discard(reason: .codedHeld)
        }
        return transfer
    }

    /// Takes an entry for another representation of a download.
    ///
    /// - Throws: ``StoreError`` with `inUse` if all possible variants are in use.
    func takeVariant(of partial: MemoryPartial, at url: DownloadURL) throws -> MemoryPartial {
        let fresh = MemoryPartial(url: url, name: partial.name, selection: partial.selection)
        guard let taken = state.withLock({ $0.shelf.takeVariant(fresh) }) else { throw StoreError.inUse(partial.key) }
        return taken
    }

    /// Opens an existing entry unchanged.
    ///
    /// - Returns: The transfer; nil if there is no such entry.
    /// - Throws: As for ``begin(_:headerFields:key:selection:policy:waits:)``.
    func reopen(_ key: String, waits: Bool) async throws -> MemoryTransfer? {
        guard let partial = try await take(key, orElse: nil, waits: waits) else { return nil }
        let caller = Caller(url: partial.url, identity: partial.identity, policy: ResumePolicy())
        return MemoryTransfer(store: self, partial: partial, caller: caller, access: .granted)
    }
}

/// The interface for transfers.
extension MemoryStore {
    /// Takes the lease of an entry.
    ///
    /// - Returns: The entry; nil if there is none and none was to be added.
    private func take(_ key: String, orElse fresh: MemoryPartial?, waits: Bool) async throws -> MemoryPartial? {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<MemoryPartial?, any Error>? in
                    switch state.shelf.take(key, orElse: fresh) {
                    case .taken(let partial): return .success(partial)
                    case .absent: return .success(nil)
                    case .inUse where !waits: return .failure(StoreError.inUse(key))
                    // The cancellation handler has already run and found no waiter.
                    case .inUse where Task.isCancelled: return .failure(CancellationError())
                    case .inUse:
                        state.waiters[key, default: []].append(Waiter(number: number, continuation: continuation))
                        return nil
                    }
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiters[key]?.firstIndex(where: { $0.number == number }) else { return nil }
                return state.waiters[key]?.remove(at: index)
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Reserves capacity for an entry in use.
    ///
    /// - Parameters:
    ///   - range: The required and the desired capacity in bytes.
    ///   - key: The key of the entry.
    /// - Returns: The granted capacity in bytes.
    /// - Throws: ``StoreError`` with `noSpace` if all other entries are in use as well.
    func reserve(_ range: ClosedRange<Int>, for key: String) throws -> Int {
        if let granted = state.withLock({ $0.shelf.reserve(key, range) }) { return granted }
        throw StoreError(
            .noSpace, "all \(configuration.maximumSize) bytes of the memory store are in use",
            advice: "Try again when other downloads have finished, or use a store on disk.")
    }

    /// Frees the capacity of an entry in use that was emptied.
    func giveUp(_ key: String) {
        state.withLock { _ = $0.shelf.reserve(key, 0...0) }
    }

    /// Releases an entry: passes it to the next waiting task, or returns it to the store.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - partial: Its contents.
    ///   - size: Its capacity in bytes.
    ///   - goes: Whether to remove it if no task waits for it.
    func giveBack(_ key: String, _ partial: MemoryPartial, size: Int, goes: Bool) {
        let next = state.withLock { state -> Waiter? in
            if let next = state.waiters[key]?.first {
                state.waiters[key]?.removeFirst()
                var handedOn = partial
                handedOn.blob = nil
                state.shelf.update(key, handedOn, size: size)
                return next
            }
            state.waiters[key] = nil
            state.shelf.update(key, partial, size: size)
            if goes { state.shelf.remove(key) } else { state.shelf.putBack(key) }
            return nil
        }
        next?.continuation.resume(returning: partial)
    }
}
