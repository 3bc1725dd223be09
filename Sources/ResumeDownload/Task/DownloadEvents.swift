import ResumeFiles
import ResumeStore
import Synchronization

/// The events of a download, in order, for one reader.
///
/// Of several progress events in a row, a slow reader gets only the last one. All others are delivered, however slow it
/// is. Each event is delivered only once, so iterate over this only once.
struct DownloadEvents<Failure: Error>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let mailbox: Mailbox

    func makeAsyncIterator() -> Self { self }

    /// Returns the next event; nil at the end, or if the reading task is cancelled and no events wait.
    ///
    /// - Throws: The error with which the download ended.
    func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> DownloadEvent? {
        try await mailbox.next(isolation: actor)
    }

    /// Keeps the events until they are read.
    final class Mailbox: Sendable {
        private typealias Waiter = CheckedContinuation<Result<DownloadEvent?, Failure>, Never>

        private struct State {
            /// The events that wait; few, since progress takes the place of earlier progress.
            var events: [DownloadEvent] = []
            var waiter: Waiter?
            /// How the download ended; nil while it is running.
            var end: Result<DownloadEvent?, Failure>?
            /// Called once if the events are no longer read.
            var onAbandon: (@Sendable () -> Void)?

        }

        private let state = Mutex(State())

        /// Calls a closure when the reading task is cancelled, or when the last reference to the mailbox is released.
        func onAbandon(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.onAbandon = call } }

        deinit { state.withLock { $0.onAbandon.take() }?() }

        func add(_ event: DownloadEvent) {
            let waiter = state.withLock { state -> Waiter? in
                guard state.end == nil else { return nil }
                if let waiter = state.waiter.take() { return waiter }
                if case .progress = event, case .progress? = state.events.last { state.events.removeLast() }
                state.events.append(event)
                return nil
            }
            waiter?.resume(returning: .success(event))
        }

        /// Ends the events; only the first call counts.
        func finish(_ end: Result<Void, Failure> = .success(())) {
            let end = end.map { nil as DownloadEvent? }
            let waiter = state.withLock { state -> Waiter? in
                guard state.end == nil else { return nil }
                let waiter = state.waiter.take()
                // An error is thrown once.
                state.end = waiter == nil ? end : .success(nil)
                state.onAbandon = nil
                return waiter
            }
            waiter?.resume(returning: end)
        }

        func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> DownloadEvent? {
            let next = await withCancellation(isolation: actor) {
                await withCheckedContinuation { (waiter: Waiter) in
                    let ready = state.withLock { state -> Result<DownloadEvent?, Failure>? in
                        if !state.events.isEmpty { return .success(state.events.removeFirst()) }
                        // There is only one reader.
                        if state.end == nil, state.waiter != nil { return .success(nil) }
                        if state.end == nil { state.waiter = waiter }
                        defer { if state.end != nil { state.end = .success(nil) } }
                        return state.end
                    }
                    if let ready { waiter.resume(returning: ready) }
                }
            } onCancel: {
                abandon()
            }
            return try next.get()
        }

        private func abandon() {
            let (call, waiter) = state.withLock { state in
                if state.end == nil { state.end = .success(nil) }
                return (state.onAbandon.take(), state.waiter.take())
            }
            waiter?.resume(returning: .success(nil))
            call?()
        }
    }
}

extension DownloadEvents where Failure == any Error {
    /// Makes a sequence of the events of a download, which is cancelled when the sequence is no longer read.
    init(of download: @escaping @Sendable (_ onEvent: @escaping DownloadEvent.Listener) async throws -> Void) {
        let mailbox = Mailbox()
        let task = Task { [weak mailbox] in
            let end = await Swift.Result { try await download { [weak mailbox] in mailbox?.add($0) } }
            mailbox?.finish(end)
        }
        mailbox.onAbandon { task.cancel() }
        self.init(mailbox: mailbox)
    }
}
