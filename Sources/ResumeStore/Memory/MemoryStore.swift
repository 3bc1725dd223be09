public import HTTPTypes
public import ResumeHTTP
internal import Synchronization

/// A store of partial downloads in memory, for small media where nothing is to be written to disk: bounded, the least
/// recently used go first, never what is in use.
///
/// It is used like a ``DownloadStore``, and decides the same; what it holds ends with the process, unless it is moved
/// to disk (``promote(_:to:waits:)``). All tasks of a process may share one.
///
/// ```swift
/// let store = MemoryStore()
/// let image = try await store.fetch(url) { fields in try await get(fields) }
/// ```
public final class MemoryStore: PartialStore {
    /// The bounds.
    public struct Configuration: Sendable {
        /// How many bytes there is room for in all entries together, those in use included.
        public var maximumSize: Int
        /// How many entries there may be; only those in use may be more.
        public var maximumEntries: Int
        /// How many bytes one entry may have: more belongs on disk.
        public var maximumEntrySize: Int

        /// Makes bounds; the defaults are 32 MiB, 100 entries and 8 MiB for one of them.
        public init(maximumSize: Int = 32 << 20, maximumEntries: Int = 100, maximumEntrySize: Int = 8 << 20) {
            self.maximumSize = max(maximumSize, 0)
            self.maximumEntries = max(maximumEntries, 0)
            self.maximumEntrySize = min(max(maximumEntrySize, 0), self.maximumSize)
        }
    }

    /// One download as the store holds it.
    public struct Entry: Sendable, Hashable {
        /// What names it.
        public var key: String
        /// The URL it was last asked for by, without user info and signature.
        public var url: String
        /// How many bytes are held; while it is in use, as many as were when that began.
        public var bytes: Int64
        /// Whether somebody works on it.
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

    /// The bounds.
    public let configuration: Configuration
    private let state: Mutex<State>
    /// The key of the hashes that tell whose bytes are held.
    let identityKey: [UInt8]

    /// Makes an empty store.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        state = Mutex(State(shelf: MemoryShelf(configuration)))
        identityKey = RequestIdentity.newKey()
    }

    /// All entries in the order of their keys.
    public var entries: [Entry] { state.withLock { $0.shelf.contents } }

    /// How many bytes there is room for in all entries together.
    public var size: Int { state.withLock { $0.shelf.size } }

    /// How many tasks wait for an entry.
    package func waiterCount(key: String) -> Int { state.withLock { $0.waiters[key]?.count ?? 0 } }

    /// Removes all entries that nobody uses, as for a warning that memory is short.
    public func removeAll() {
        state.withLock { $0.shelf.removeIdle() }
    }

    /// Opens one download for work: takes its lease, so that no other task has it.
    ///
    /// - Parameters:
    ///   - url: What will be asked for.
    ///   - headerFields: The caller's own fields of the request, with credentials. Whoever sends the same ones to the same
    ///     URL is given what is complete without a request; all others, and callers who do not tell (nil), ask the server
    ///     first.
    ///   - key: What names the download; nil for the URL without user info and signature.
    ///   - selection: What is wanted of the representation; nil for all of it. Each selection is a download of its own.
    ///   - policy: On which terms it is continued.
    ///   - waits: Whether to wait for another task that works on it already, or to fail.
    /// - Returns: The transfer. Close it, or let it go: then the next one may work on the entry.
    /// - Throws: ``StoreError``, with `inUse` where it is not waited for; `CancellationError`.
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
        // A key of the caller's own that reads like that of other ranges or variants.
        if partial.key != fresh.key || partial.selection != selection { partial = fresh }
        let access = caller.access(to: partial.requester, isEmpty: partial.isEmpty, identityKey)
        caller.policy = policy.moving(from: partial.url.redacted, to: url)
        if access != .foreign { partial.url = url }
        let transfer = MemoryTransfer(store: self, partial: partial, caller: caller, access: access)
        // Who is cancelled when it was his turn lets the next one have it.
        try Task.checkCancellation()
        // Coded bytes are no answer for who asks for the file itself, however complete they are.
        if partial.representation?.contentCoding != nil, !policy.storesCoded {
            try await transfer.discard(reason: .codedHeld)
        }
        return transfer
    }

    /// Takes into use an entry for another representation of a download.
    ///
    /// - Throws: ``StoreError`` with `inUse` where all that there may be are in use.
    func takeVariant(of partial: MemoryPartial, at url: DownloadURL) throws -> MemoryPartial {
        let fresh = MemoryPartial(url: url, name: partial.name, selection: partial.selection)
        guard let taken = state.withLock({ $0.shelf.takeVariant(fresh) }) else { throw StoreError.inUse(partial.key) }
        return taken
    }

    /// Opens the entry of a key as it is.
    ///
    /// - Returns: The transfer; nil where there is no such entry.
    /// - Throws: As for ``begin(_:headerFields:key:selection:policy:waits:)``.
    func reopen(_ key: String, waits: Bool) async throws -> MemoryTransfer? {
        guard let partial = try await take(key, orElse: nil, waits: waits) else { return nil }
        let caller = Caller(url: partial.url, identity: partial.identity, policy: ResumePolicy())
        return MemoryTransfer(store: self, partial: partial, caller: caller, access: .granted)
    }
}

/// What transfers tell the store.
extension MemoryStore {
    /// Takes the lease of an entry.
    ///
    /// - Returns: What it holds; nil where there is none, and none was to be made.
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
                    // The handler has run by now, and found nobody.
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

    /// Makes room for an entry in use.
    ///
    /// - Parameters:
    ///   - range: How many bytes it needs room for, and how many would be better.
    ///   - key: What names it.
    /// - Returns: How many it has room for now.
    /// - Throws: ``StoreError`` with `noSpace` where everything else is in use as well.
    func reserve(_ range: ClosedRange<Int>, for key: String) throws -> Int {
        if let granted = state.withLock({ $0.shelf.reserve(key, range) }) { return granted }
        throw StoreError(
            .noSpace, "all \(configuration.maximumSize) bytes of the memory store are in use",
            advice: "Try again when other downloads have finished, or use a store on disk.")
    }

    /// Gives up the room of an entry in use, of which nothing is held any more.
    func giveUp(_ key: String) {
        state.withLock { _ = $0.shelf.reserve(key, 0...0) }
    }

    /// Gives back an entry with what it holds now: to whoever waits for it, else to the store.
    ///
    /// - Parameters:
    ///   - key: What names it.
    ///   - partial: What it holds.
    ///   - size: How many bytes it has room for.
    ///   - goes: Whether it is of no use but to somebody who waits.
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
