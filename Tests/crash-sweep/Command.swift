import CrashSweep
import Foundation
import Glibc

/// Kills `resumectl` at each of its calls to the file system, on file systems that can lose power.
@main
enum Command {
    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst())
            if arguments.wantsHelp {
                say(Arguments.usage)
                return
            }
            try enterNamespace()
            // It begins once it can be interrupted.
            let (start, starter) = AsyncStream<Void>.makeStream()
            let sweep = Task {
                for await _ in start { break }
                return try await run(arguments)
            }
            let signals = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { sweep.cancel() }
                source.resume()
                return source
            }
            starter.yield()
            let isClean: Bool
            do {
                isClean = try await sweep.value
            } catch _ where sweep.isCancelled {
                // The interrupted operation may have failed in its own way.
                fail("interrupted", status: 130)
            }
            withExtendedLifetime(signals) {}
            exit(isClean ? 0 : 1)
        } catch let failure as Arguments.Failure {
            fail(failure.message, status: 64)
        } catch {
            fail("\(error)", status: 70)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> Bool {
        for kind in arguments.sweep.fileSystems where !CrashSweep.isAvailable(kind) {
            throw Arguments.Failure(
                message: "\(kind.rawValue) needs root, a C compiler, mount and mkfs.\(kind.rawValue)")
        }
        var sweep = arguments.sweep
        sweep.progress = { say($0) }
        let report = try await sweep.run()
        say("\n\(report.table)")
        return report.violations.isEmpty
    }

    /// Restarts in a private mount namespace, so that the mounts end with this process in any case.
    private static func enterNamespace() throws {
        guard getuid() == 0, getenv("CRASH_SWEEP_NAMESPACE") == nil else { return }
        setenv("CRASH_SWEEP_NAMESPACE", "1", 1)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let words = ["unshare", "--mount", own] + CommandLine.arguments.dropFirst()
        var pointers = words.map { strdup($0) } + [nil]
        // It returns if there is no such program; then the mounts are visible to all.
        execvp("unshare", &pointers)
        for pointer in pointers { free(pointer) }
    }

    /// Prints a line immediately, even into a pipe.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    private static func fail(_ message: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("crash-sweep: \(message)\n".utf8))
        exit(status)
    }
}
