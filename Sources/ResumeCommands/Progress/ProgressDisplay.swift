internal import Synchronization

/// Draws the progress of downloads at the bottom of a terminal, at most ten times per second.
///
/// Lines are written by one task, so that a terminal that stands still does not stop downloads.
final class ProgressDisplay: Sendable {
    private struct Shared {
        var state: ProgressState
        var messages: [String] = []
        var ticker: Task<Void, Never>?
    }

    private let shared: Mutex<Shared>
    /// Held while a frame is written, so that frames are written in order.
    private let frame = Mutex(TerminalFrame())
    private let size: @Sendable () -> TerminalSize?
    private let write: @Sendable (String) -> Void

    /// Makes a display, which draws nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - size: Returns the current size of the terminal.
    ///   - write: Writes to the terminal.
    init(size: @escaping @Sendable () -> TerminalSize?, write: @escaping @Sendable (String) -> Void) {
        shared = Mutex(Shared(state: ProgressState()))
        self.size = size
        self.write = write
    }

    /// Starts drawing, until ``finish()``.
    func start() {
        shared.withLock { shared in
            shared.ticker = Task {
                while !Task.isCancelled {
                    draw()
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    /// Changes the state that is drawn next.
    func update(_ change: (inout ProgressState) -> Void) { shared.withLock { change(&$0.state) } }

    /// Prints a line: above the progress with the next drawing, or at once if nothing is drawn.
    func say(_ line: String) {
        shared.withLock { shared in
            guard shared.ticker == nil else { return shared.messages.append(line) }
            write(Terminal.wrapped(line, to: (size() ?? .standard).width) + "\n")
        }
    }

    /// Prints the remaining messages, removes the progress, and prints the summary.
    func finish() {
        shared.withLock { shared in
            shared.ticker?.cancel()
            shared.ticker = nil
        }
        draw(isLast: true)
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
