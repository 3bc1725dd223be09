internal import ResumeStore

/// The stored bytes and the events of a store at one moment.
struct Held {
    private var bytes: [Int64: (key: String, name: String, count: Int64)] = [:]
    /// The events before and after the bytes were read, since a stream may end in between.
    private let earlier: Set<DownloadStore.Event>
    private let events: Set<DownloadStore.Event>

    init(_ store: DownloadStore) async throws {
        earlier = Set(try await store.events())
        for entry in try await store.entries() { bytes[entry.id] = (entry.key, entry.name, entry.receivedBytes) }
        events = Set(try await store.events())
    }

    /// What is gone at a later moment without an event that says so.
    func lossesWithoutEvent(until later: Held) -> [String] {
        let kinds: Set<DownloadStore.Event.Kind> = [.restarted, .damaged, .evicted, .purged, .delivered]
        let new = later.events.filter { !earlier.contains($0) && kinds.contains($0.kind) }
        return bytes.compactMap { id, held in
            let left = later.bytes[id]?.count ?? 0
            // The delivery of one variant replaces the others of the same request.
            let isSaid = new.contains { event in
                event.key == held.key || event.kind == .delivered && event.key.hasPrefix(held.name)
            }
            guard left < held.count, !isSaid else { return nil }
            return "\(held.key): \(held.count) bytes became \(left) without an event"
        }
    }
}
