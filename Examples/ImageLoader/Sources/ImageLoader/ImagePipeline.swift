import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore

/// Loads images, and begins none of them twice: what came of one stays in memory when nobody looks at it any more.
struct ImagePipeline: Sendable {
    private let memory: MemoryStore
    private let disk: DownloadStore
    private let client = HTTPClient()

    /// Makes a pipeline.
    ///
    /// - Parameters:
    ///   - memory: Where partial images are held.
    ///   - disk: Where those go that are too large for memory, or that are to survive the process.
    init(memory: MemoryStore, disk: DownloadStore) {
        self.memory = memory
        self.disk = disk
    }

    /// Loads an image; cancelling the task keeps what came.
    ///
    /// Of several who ask for the same one at a time, one makes the request, and all get the image.
    func image(_ address: URL, onPart: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> [UInt8] {
        let url = try DownloadURL(address.absoluteString)
        if try await disk.entry(key: url.redacted) == nil {
            do {
                return try await load(address, as: url, from: memory, onPart)
            } catch let error as StoreError where error.code == .tooLarge || error.code == .noSpace {
                // Where something of it came before that was known, it moves.
                _ = try? await memory.promote(url.redacted, to: disk)
            }
        }
        return try await load(address, as: url, from: disk, onPart)
    }

    /// One door for both stores: they decide what to ask for and what to make of the answer, the client sends.
    private func load(
        _ address: URL, as url: DownloadURL, from store: some PartialStore, _ onPart: @escaping @Sendable (Int) -> Void
    ) async throws -> [UInt8] {
        // The client adds no fields of its own: every view sends the same request.
        try await store.fetch(url, headerFields: [:], limit: 256 << 20) { fields in
            let (head, body) = try await client.get(address, fields)
            let parts = body.map { part in
                onPart(part.count)
                return part
            }
            return (head, parts)
        }
    }

    /// Moves what is half there to disk, as when a program goes to the background and may be ended there.
    ///
    /// - Returns: How many bytes.
    func enterBackground() async -> Int64 {
        var moved: Int64 = 0
        for entry in memory.entries {
            // One that is being loaded right now, or of which more lies on disk, stays.
            moved += (try? await memory.promote(entry.key, to: disk, waits: false)) ?? 0
        }
        return moved
    }

    /// Drops what nobody is loading, for a warning that memory is short.
    func releaseMemory() { memory.removeAll() }
}
