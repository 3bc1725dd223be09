import Foundation

/// Downloads the files of a manifest into a cache folder, several at a time.
///
/// It may be stopped at any time, even with `kill -9` or a power loss; the next run resumes the downloads.
@main
struct ModelFetcher {
    /// The number of concurrent downloads.
    static let width = 4

    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            say("usage: ModelFetcher MANIFEST CACHE\nEach line of MANIFEST contains a SHA-256 and a URL.")
            exit(64)
        }
        let models: [Model]
        do {
            models = try Model.list(String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8))
        } catch {
            say("\(CommandLine.arguments[1]): \(error)")
            exit(64)
        }
        let failures = try await ModelCache.with(folder: CommandLine.arguments[2]) { cache in
            await fetch(models, into: cache)
        }
        exit(failures == 0 ? 0 : 1)
    }

    /// Downloads all models; a failure does not affect the others.
    ///
    /// - Returns: How many failed.
    private static func fetch(_ models: [Model], into cache: ModelCache) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            var failures = 0
            for (index, model) in models.enumerated() {
                // Each finished download makes room for the next.
                if index >= width, await group.next() == false { failures += 1 }
                group.addTask { await fetch(model, into: cache) }
            }
            for await isThere in group where !isThere { failures += 1 }
            return failures
        }
    }

    private static func fetch(_ model: Model, into cache: ModelCache) async -> Bool {
        do {
            var progress = Progress(of: model.name)
            switch try await cache.fetch(model, onEvent: { progress.tell($0) }) {
            case .present: print("\(model.name): already present")
            case .fetched(let fetched, let reused):
                print("\(model.name): fetched \(fetched) bytes, reused \(reused) bytes")
            }
            return true
        } catch {
            say("\(model.name): \(error)")
            return false
        }
    }

    /// Writes messages to standard error; results go to standard output.
    static func say(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
