import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore

/// Loads images and never starts over: when a view disappears, the received bytes stay in memory.
struct ImagePipeline: Sendable {
    private let memory: MemoryStore
    private let disk: DownloadStore
    private let client = HTTPClient()

    /// Makes a pipeline.
    ///
    /// - Parameters:
    ///   - memory: The store for partial images.
    ///   - disk: The store for images that are too large for memory, or that must survive the process.
    init(memory: MemoryStore, disk: DownloadStore) {
        self.memory = memory
        self.disk = disk
    }

    /// Loads an image; cancelling the task keeps the received bytes.
    ///
    /// If several tasks load the same image at the same time, one makes the request, and all get the image.
    func image(_ address: URL, onPart: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> [UInt8] {
        let url = try DownloadURL(address)
        if try await disk.entry(for: url) == nil {
            do {
                return try await load(address, as: url, from: memory, onPart)
            } catch let error as StoreError where error.code == .tooLarge || error.code == .noSpace {
                // Bytes received before that was known are moved to disk.
                _ = try? await memory.promote(url, to: disk)
            }
        }
        return try await load(address, as: url, from: disk, onPart)
    }

    /// Loads an image with either store: the store decides on requests and evaluates responses, the client sends.
    private func load(
        _ address: URL, as url: DownloadURL, from store: some PartialStore, _ onPart: @escaping @Sendable (Int) -> Void
    ) async throws -> [UInt8] {
        // The client adds no fields, so every view sends the same request.
        try await store.fetch(url, headerFields: [:], limit: 256 << 20) { fields in
            let (head, body) = try await client.get(address, fields)
            let parts = body.map { part in
                onPart(part.count)
                return part
            }
            return FetchResponse(head: head, body: parts)
        }.bytes
    }

    /// Moves partial images to disk, for example when the program goes to the background and may be ended there.
    ///
    /// - Returns: How many bytes were moved.
    func enterBackground() async -> Int64 {
        var moved: Int64 = 0
        for entry in memory.entries {
            // An image stays in memory while it is being loaded, or if more of it is on disk.
            moved += (try? await memory.promote(entry.key, to: disk, waits: false)) ?? 0
        }
        return moved
    }

    /// Removes images that are not being loaded, for example after a memory warning.
    func releaseMemory() { memory.removeAll() }
}
