import Foundation

/// The media manager without a user interface; lines on standard input stand for the actions of a user.
@main
struct MediaManager {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            say("usage: MediaManager FOLDER ORIGIN\ncommands: show NAME…, open NAME, leave NAME, report, wait, quit")
            exit(64)
        }
        let library = try await MediaLibrary.open(in: CommandLine.arguments[1], from: CommandLine.arguments[2]) {
            switch $1 {
            case .success(let result): say("finished: \(result.path), \(result.reusedBytes) bytes reused")
            case .failure(let error): say("failed: \($0): \(error)")
            }
        }
        for await words in lines() {
            let names = Array(words.dropFirst())
            do {
                switch words.first {
                case "show": try await library.show(names)
                case "open": for name in names { open(name, in: library) }
                case "leave": for name in names { try await library.leave(name) }
                case "report": say("\(await library.report())")
                case "wait": await library.wait()
                case "quit": return try await library.close()
                default: say("unknown command; use show, open, leave, report, wait or quit")
                }
            } catch {
                say("\(words.joined(separator: " ")): \(error)")
            }
        }
        await library.wait()
        try await library.close()
    }

    /// Opens an item in the background, so that the user can continue.
    private static func open(_ name: String, in library: MediaLibrary) {
        Task {
            do {
                say("opened: \(try await library.open(name).path)")
            } catch {
                say("open \(name): \(error)")
            }
        }
    }

    /// Returns the words of each line as it is entered.
    private static func lines() -> AsyncStream<[String]> {
        AsyncStream { continuation in
            // Reading blocks, so it needs a separate thread.
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line.split(separator: " ").map(String.init)) }
                continuation.finish()
            }
        }
    }

    private static func say(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }
}
