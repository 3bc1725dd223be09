#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif
internal import ResumeFiles
internal import Synchronization

/// SIGINT and SIGTERM as cancellation: what came is recorded, and the program ends by itself.
///
/// Only a courtesy: without it at most what came since the last checkpoint is lost, as with SIGKILL.
public enum Signals {
    private static let numbers = [SIGINT, SIGTERM]

    /// Keeps the signals from ending the process; to be called before it has a second thread.
    ///
    /// They wait for ``cancelling(_:)``, whichever comes first: where they are ignored, one that comes before somebody
    /// listens is lost.
    public static func hold() {
        #if canImport(Darwin)
        // Listening there sees those that are ignored as well.
        for number in numbers { signal(number, SIG_IGN) }
        #else
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in numbers { unsafe sigaddset(&set, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        #endif
    }

    /// Runs a command and cancels it when a signal comes; call ``hold()`` first.
    ///
    /// A second signal ends the process at once.
    ///
    /// - Returns: The command's status; 130 after SIGINT and 75 after SIGTERM where that is what ended it.
    public static func cancelling(_ body: @escaping @Sendable () async -> ExitStatus) async -> ExitStatus {
        signal(SIGPIPE, SIG_IGN)
        let received = Mutex<Int32?>(nil)
        let task = Task { await body() }
        let queue = DispatchQueue(label: "resumectl.signals")
        let sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                let isFirst = received.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                if isFirst { task.cancel() } else { _exit(128 + number) }
            }
            source.resume()
            return source
        }
        let status = await task.value
        for source in sources { source.cancel() }
        guard status == .interrupted else { return status }
        return received.withLock { $0 } == SIGTERM ? .tryAgain : .interrupted
    }
}
