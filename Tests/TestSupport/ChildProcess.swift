#if canImport(Darwin)
package import Darwin
#elseif canImport(Musl)
package import Musl
#else
package import Glibc
#endif
internal import Synchronization

/// A program started by a test, which is ended at the latest when its last reference is released.
///
/// (With Foundation's `Process` it inherits the thread's blocked signals.)
package final class ChildProcess: Sendable {
    /// How a program ended.
    package enum Ending: Sendable, Equatable {
        /// It exited with a status.
        case exited(Int32)
        /// A signal killed it.
        case killed(Int32)
    }

    /// The process ID.
    package let processIdentifier: pid_t
    private let ending = Mutex<Ending?>(nil)

    /// Starts a program with an empty standard input.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - arguments: The arguments without its name.
    ///   - environment: All variables except the one that keeps a crashing Swift program from starting a helper.
    ///   - output: The file for standard output.
    ///   - errors: The file for standard error.
    /// - Throws: ``Shell/Failure`` if it cannot be started.
    package init(
        _ path: String, _ arguments: [String], environment: [String: String], output: String, errors: String
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if errors == output {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
        #if canImport(Glibc)
        // The program must not inherit the test's descriptors: with a listening socket of its origin it would wait for
        // itself once the origin is gone.
        closeFrom(&actions, 3)
        #endif
        var arguments = ([path] + arguments).map { strdup($0) } + [nil]
        // Tests crash programs on purpose, and the helper would outlive them.
        let environment = environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        // Pool threads block signals, and a child inherits that: it could not be terminated.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // A shell that starts the tests in the background makes them ignore these, and a child inherits that as well.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var identifier = pid_t()
        let code = posix_spawn(&identifier, path, &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw Shell.Failure(description: "\(path) cannot be started: \(code)") }
        processIdentifier = identifier
    }

    /// How it ended; nil while it runs.
    package var result: Ending? {
        ending.withLock { ending in
            if let ending { return ending }
            var status: Int32 = 0
            guard waitpid(processIdentifier, &status, WNOHANG) == processIdentifier else { return nil }
            let signal = status & 0x7f
            ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
            return ending
        }
    }

    /// Whether it still runs.
    package var isRunning: Bool { result == nil }

    /// Waits for the end without blocking a pool thread.
    @discardableResult
    package func wait() async -> Ending {
        while true {
            if let result { return result }
            if Task.isCancelled { end() }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    deinit { end() }

    /// Ends the program if it still runs: first with a signal, so that it can end its own children, then with SIGKILL
    /// after five seconds.
    ///
    /// Blocks the calling thread until the program has ended, so it is for tests that failed or were cancelled.
    package func end() {
        send(SIGTERM)
        // A stopped program does not see the other signal.
        send(SIGCONT)
        let deadline = ContinuousClock.now + .seconds(5)
        while isRunning {
            if ContinuousClock.now > deadline {
                // `timeout` leads a separate process group, which includes its program.
                kill(-processIdentifier, SIGKILL)
                kill(processIdentifier, SIGKILL)
            }
            usleep(2000)
        }
    }

    /// Sends it a signal.
    package func send(_ signal: Int32) {
        // Only before it is reaped: the process ID may be reused afterwards.
        if isRunning { kill(processIdentifier, signal) }
    }
}

#if canImport(Glibc)
// Swift does not see glibc's declaration.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np") @discardableResult
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32) -> Int32
#endif
