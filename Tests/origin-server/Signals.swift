import Dispatch
import Foundation

/// Waits for signals that would otherwise end the process.
struct Signals {
    private let arrivals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Begins to catch signals.
    ///
    /// - Parameter numbers: The signals.
    init(_ numbers: [Int32]) {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.arrivals = arrivals
        sources = numbers.map { number in
            // A dispatch source sees a signal, but does not keep it from ending the process.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.activate()
            return source
        }
    }

    /// Waits for the first of the signals, unless one has already arrived.
    ///
    /// From then on they are ignored.
    func wait() async {
        for await _ in arrivals { break }
        for source in sources { source.cancel() }
    }
}
