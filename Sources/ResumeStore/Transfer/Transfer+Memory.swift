import ResumeFiles
import ResumeHTTP

/// What differs between transfers of a store on disk and of one in memory.
extension Transfer {
    enum Home {
        case disk(DownloadStore)
        case memory(MemoryStore)

        var disk: DownloadStore? { if case .disk(let store) = self { store } else { nil } }
    }

    package nonisolated var disk: DownloadStore? { home.disk }

    nonisolated var memory: MemoryStore? { if case .memory(let store) = home { store } else { nil } }

    /// Whether nothing is kept after the process.
    package nonisolated var isInMemory: Bool { memory != nil }

    /// Whether the bytes are passed on, so that only the last ones can be read.
    nonisolated var passesOn: Bool { memory?.passesOn == true }

    /// The store on disk, for what a store in memory cannot do.
    nonisolated var store: DownloadStore {
        get throws(StoreError) {
            if let disk { return disk }
            throw StoreError(.misuse, Reason("in-memory"))
        }
    }

    /// The key of the hashes of requests.
    nonisolated var identityKey: HashKey { disk?.identityKey ?? memory?.identityKey ?? .none }

    var file: OpenFile? { blob as? OpenFile }

    /// Returns an entry to a store in memory; does nothing for a store on disk.
    nonisolated func giveBack(_ entry: Entry, _ blob: (any BodyStorage)?, goes: Bool = false) {
        guard let memory else { return }
        var entry = entry
        let chunks = Entry.Chunk.inMemory(held, like: entry.chunks)
        entry.content?.chunks = chunks
        memory.giveBack(MemoryShelf.Held(entry: entry, blob: blob as? MemoryBlob), goes: goes)
    }
}

extension Entry.Chunk {
    /// The only part of an entry in memory, and the one behind it that a digest must prove.
    static func inMemory(_ length: Int64, like chunks: [Entry.Chunk] = []) -> [Entry.Chunk] {
        let marked = chunks.first { $0.mark != nil && $0.offset < length }
        let end = marked?.offset ?? length
        let first = Entry.Chunk(path: "", offset: 0, length: end, durable: end)
        guard let marked else { return [first] }
        return [
            first, Entry.Chunk(path: "", offset: end, length: length - end, durable: length - end, mark: marked.mark),
        ]
    }
}

extension Transfer {
    /// Lets others have the room for the missing bytes, until the next response.
    func leaveRoom() { disk?.room.leave(writer) }

    /// Throws if a file does not fit the memory, the destination or the store, where it may have to wait for others.
    func requireRoom(for length: Int64?, replacing replaced: Int64) async throws {
        try memory?.requireRoom(for: length)
        guard let disk else { return }
        try caller.destination?.requireSpace(for: length, beside: disk.folder)
        try await Collector(disk).admit(writer, key: key, length: length, replacing: replaced)
        // It may have been closed in the meantime.
        if !state.isOpen { disk.room.end(writer) }
        try requireOpen()
    }
}
