import Synchronization

/// Draws the progress of downloads at the bottom of a terminal, at most ten times per second.
///
/// Lines are written by one task, so that a terminal that stands still does not stop downloads.
final class ProgressDisplay: Sendable {
    private struct Shared {
        var state: ProgressState
        var messages: [String] = []
        var ticker: Task<Void, Never>?
        /// When a line was printed last.
        var last = ContinuousClock.now
    }

    private let shared: Mutex<Shared>
    /// Held while a frame is written, so that frames are written in order.
    private let frame = Mutex(TerminalFrame())
    private let size: @Sendable () -> Terminal.Size?
    /// The longest time between lines without a terminal; nil if there is one.
    private let interval: Duration?
    private let write: @Sendable (String) -> Void

    /// Makes a display, which draws nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - state: The state before the first download.
    ///   - interval: The longest time between ordinary lines if nothing is drawn; nil to draw.
    ///   - size: Returns the current size of the terminal.
    ///   - write: Writes to the terminal.
    init(
        _ state: ProgressState, linesEvery interval: Duration?, size: @escaping @Sendable () -> Terminal.Size?,
        write: @escaping @Sendable (String) -> Void
    ) {
        shared = Mutex(Shared(state: state))
        self.size = size
        self.interval = interval
        self.write = write
    }

    /// Starts drawing, until ``finish()``.
    func start() {
        shared.withLock { shared in
            shared.ticker = Task {
                while !Task.isCancelled {
                    if let interval { report(every: interval) } else { draw() }
                    try? await Task.sleep(for: .milliseconds(interval == nil ? 100 : 1000))
                }
            }
        }
    }

    /// Changes or reads the state that is drawn next.
    @discardableResult
    func update<Result>(_ change: (inout ProgressState) -> Result) -> Result { shared.withLock { change(&$0.state) } }

    /// Prints a line: above the progress with the next drawing, or at once if nothing is drawn.
    func say(_ line: String) {
        shared.withLock { shared in
            shared.last = .now
            guard interval == nil else { return write(line + "\n") }
            guard shared.ticker == nil else { return shared.messages.append(line) }
            write(Terminal.wrapped(line, to: (size() ?? .standard).width) + "\n")
        }
    }

    /// Prints the remaining messages, removes the progress, and prints the summary, if the display was started.
    func finish() {
        let ticker = shared.withLock { shared in
            defer { shared.ticker = nil }
            return shared.ticker
        }
        ticker?.cancel()
        if ticker != nil, interval == nil { draw(isLast: true) }
    }

    /// Prints the progress if nothing has been printed for a while, so that a log shows what is waited for.
    private func report(every interval: Duration) {
        shared.withLock { shared in
            shared.state.tick()
            guard ContinuousClock.now - shared.last >= interval else { return }
            shared.last = .now
            for line in shared.state.report { write(line + "\n") }
        }
    }

    private func draw(isLast: Bool = false) {
        let size = size() ?? .standard
        frame.withLock { frame in
            // After the last drawing, the ticker may wake up once more.
            guard isLast || !Task.isCancelled else { return }
            let (lines, messages) = shared.withLock { shared in
                shared.state.tick()
                defer { shared.messages = [] }
                guard isLast else { return (shared.state.lines(in: size), shared.messages) }
                return ([], shared.messages + [shared.state.summary].compactMap { $0 })
            }
            let wrapped = messages.map { Terminal.wrapped($0, to: size.width) }
            write(frame.replace(with: lines, after: wrapped, width: size.width))
        }
    }
}
