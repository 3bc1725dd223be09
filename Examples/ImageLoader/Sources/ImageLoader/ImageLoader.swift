import Foundation
import ResumeStore

/// Simulates a user of images, who views them, scrolls away early, comes back, and leaves the program.
@main
struct ImageLoader {
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.popFirst(), !arguments.isEmpty else { usage() }
        let disk = try await DownloadStore.open(at: folder)
        // Small limits, so that some images are moved to disk; the defaults are 32 MiB and 8 MiB.
        let memory = MemoryStore(maximumSize: 16 << 20, maximumEntrySize: 4 << 20)
        let pipeline = ImagePipeline(memory: memory, disk: disk)
        while let step = arguments.popFirst() {
            switch (step, arguments.count) {
            case ("show", 2...): try await show(arguments.removeFirst(), file: arguments.removeFirst(), with: pipeline)
            case ("glance", 2...):
                try await glance(arguments.removeFirst(), bytes: arguments.removeFirst(), with: pipeline)
            case ("background", _): print("moved to disk: \(await pipeline.enterBackground()) bytes")
            case ("warning", _): pipeline.releaseMemory()
            default: usage()
            }
        }
        await disk.close()
    }

    /// Requests the same image for two views at the same time and writes it to a file.
    private static func show(_ address: String, file: String, with pipeline: ImagePipeline) async throws {
        guard let url = URL(string: address) else { usage() }
        async let preview = pipeline.image(url)
        async let full = pipeline.image(url)
        let (image, other) = try await (full, preview)
        guard image == other else { fatalError("the two views received different images") }
        try Data(image).write(to: URL(fileURLWithPath: file))
        print("showed \(image.count) bytes")
    }

    /// Cancels the load before the image is complete, as a view does when it disappears.
    private static func glance(_ address: String, bytes: String, with pipeline: ImagePipeline) async throws {
        guard let url = URL(string: address), let enough = Int(bytes) else { usage() }
        let (parts, progress) = AsyncStream<Int>.makeStream()
        let view = Task {
            defer { progress.finish() }
            return try await pipeline.image(url) { progress.yield($0) }
        }
        var seen = 0
        for await count in parts {
            seen += count
            if seen >= enough { break }
        }
        view.cancel()
        _ = await view.result
        print("cancelled after \(seen) bytes")
    }

    private static func usage() -> Never {
        print(
            """
            usage: ImageLoader STORE STEP…
            STEP is one of: show URL FILE, glance URL BYTES, background, warning
            """)
        exit(64)
    }
}
