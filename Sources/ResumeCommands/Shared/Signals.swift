#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif
import ResumeFiles
import Synchronization

/// Turns SIGINT and SIGTERM into cancellation, so that received bytes are recorded and the program exits normally.
///
/// This is optional: without it, at most the bytes since the last checkpoint are lost, as with SIGKILL.
enum Signals {
    /// The signals, without those that were ignored at the start, as with nohup or `trap ''`: they stay ignored.
    private static let numbers = [SIGINT, SIGTERM].filter { number in
        var action = sigaction()
        unsafe sigaction(number, nil, &action)
        #if canImport(Darwin)
        let handler = unsafe action.__sigaction_u.__sa_handler
        #elseif canImport(Musl)
        let handler = unsafe action.__sa_handler.sa_handler
        #else
        let handler = unsafe action.__sigaction_handler.sa_handler
        #endif
        return unsafe unsafeBitCast(handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Prevents the signals from ending the process; must be called before a second thread starts.
    ///
    /// Signals stay pending until ``cancelling(_:)`` runs. On Linux they are blocked, not ignored, because ignored
    /// signals are lost if they arrive before a handler is installed.
    static func hold() {
        #if canImport(Darwin)
        // On Darwin, dispatch sources also receive ignored signals.
        for number in numbers { signal(number, SIG_IGN) }
        #else
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in numbers { unsafe sigaddset(&set, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        #endif
    }

    /// Runs a command and cancels it when a signal arrives; call ``hold()`` first.
    ///
    /// A second signal ends the process at once, unless it arrives together with the first one.
    ///
    /// - Returns: The command's status; if a signal ended it, 130 for SIGINT and 75 for SIGTERM.
    static func cancelling(_ body: @escaping @Sendable () async -> ExitStatus) async -> ExitStatus {
        signal(SIGPIPE, SIG_IGN)
        let received = Mutex<Int32?>(nil)
        let course = Mutex(Course())
        let task = Task { await body() }
        let queue = DispatchQueue(label: "resumectl.signals")
        let sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                switch course.withLock({ $0.receive(at: .now) }) {
                case .cancel:
                    received.withLock { $0 = number }
                    task.cancel()
                case .ignore: break
                case .exit: exit(because: number)
                }
            }
            source.resume()
            return source
        }
        let status = await task.value
        for source in sources { source.cancel() }
        guard status == .interrupted else { return status }
        return received.withLock { $0 } == SIGTERM ? .tryAgain : .interrupted
    }

    private static func exit(because number: Int32) -> Never {
        let message = "resumectl: ended by a second signal; what the store has is kept. Run the command again.\n"
        _ = unsafe write(STDERR_FILENO, message, message.utf8.count)
        _exit(128 + number)
    }
}
