package import HTTPTypes
import ResumeStore
import Synchronization

/// Passes a response from the client that receives it to the one reader of its body.
///
/// The client adds a head, parts and an end. ``drain()`` calls the reader on the thread that calls it; parts wait here
/// while nothing reads. Transports differ only in which thread that is.
package final class BodyMailbox: Sendable {
    package typealias Reader = @Sendable (RawSpan) throws -> Bool
    private typealias Waiter = CheckedContinuation<Bool, any Error>

    /// How many bytes may wait before the client should stop receiving: about what one turn of its event loop reads.
    static var limit: Int { 1 << 20 }

    /// The maximum number of interim responses before a head; servers send one or two.
    package static var mostInterim: Int { 100 }

    private struct State {
        var head: HTTPResponse?
        var headWaiter: CheckedContinuation<HTTPResponse, any Error>?
        var parts = PartQueue()
        var reader: Reader?
        var waiter: Waiter?
        /// Whether the reader is being called; nothing else is passed to it until that call returns.
        var isReading = false
        /// Called as soon as there is room for more parts.
        var onRoom: (@Sendable () -> Void)?
        /// The end of the body, if it was added; a nil error means that the framing announced it.
        var end: (any Error)??
    }

    private let state = Mutex(State())
    /// The error if the response ends before its head.
    private let noHead: @Sendable () -> TransportError

    package init(noHead: @escaping @autoclosure @Sendable () -> TransportError) { self.noHead = noHead }

    // MARK: The reader's side

    package func head() async throws -> HTTPResponse {
        try await withCheckedThrowingContinuation { continuation in
            let ready: Result<HTTPResponse, any Error>? = state.withLock { state in
                if let head = state.head { return .success(head) }
                if let error = state.end { return .failure(error ?? noHead()) }
                state.headWaiter = continuation
                return nil
            }
            if let ready { continuation.resume(with: ready) }
        }
    }

    /// Implements `ResponseBody.read(_:)`.
    ///
    /// - Parameters:
    ///   - reader: The reader.
    ///   - start: Calls ``drain()`` on the right thread. Its parameters say whether the end has been added, and whether
    ///     no parts wait.
    /// - Returns: Whether there is more to read.
    /// - Throws: The reader's error, or the error that ended the response early.
    package func read(
        _ reader: @escaping Reader, start: (_ hasEnded: Bool, _ isEmpty: Bool) -> Void
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            let (hasEnded, isEmpty) = state.withLock { state in
                state.reader = reader
                state.waiter = continuation
                return (state.end != nil, state.parts.isEmpty)
            }
            start(hasEnded, isEmpty)
        }
    }

    /// Implements `ResponseBody.pause()`.
    package func pause() {
        let waiter = state.withLock { state -> Waiter? in
            state.reader = nil
            // A call of the reader ends first.
            return state.isReading ? nil : state.waiter.take()
        }
        waiter?.resume(returning: true)
    }

    // MARK: The client's side

    /// Whether the end has been added.
    package var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// Whether a head has been added.
    package var hasHead: Bool { state.withLock { $0.head != nil } }

    /// Adds the head; ignored after the first one.
    package func add(_ head: HTTPResponse) {
        let waiter = state.withLock { state -> CheckedContinuation<HTTPResponse, any Error>? in
            guard state.head == nil else { return nil }
            state.head = head
            return state.headWaiter.take()
        }
        waiter?.resume(returning: head)
    }

    /// Adds a part, which must not be empty, and passes on what waits.
    ///
    /// - Returns: Whether there is room for more; otherwise, use ``whenRoom(_:)``.
    package func add(_ part: any Part) -> Bool {
        state.withLock { state in
            if state.end == nil { state.parts.append(part) }
        }
        drain()
        return state.withLock { $0.end != nil || $0.parts.cost < Self.limit }
    }

    /// Adds bytes without passing them on, to the last part if it has room and is not being read.
    ///
    /// - Parameters:
    ///   - extend: Adds them to a part; returns whether it had room.
    ///   - make: Makes a new part of them.
    /// - Returns: Whether there is room for more.
    package func append(extending extend: (any Part) -> Bool, making make: () -> any Part) -> Bool {
        state.withLock { state in
            guard state.end == nil else { return true }
            if let last = state.parts.last(beyondFirst: state.isReading), extend(last) { return true }
            state.parts.append(make())
            return state.parts.cost < Self.limit
        }
    }

    /// Whether a reader waits that nothing is being passed to: after more was added, ``drain()`` must be called.
    package var isAwaited: Bool { state.withLock { $0.reader != nil && !$0.isReading } }

    /// Calls a closure as soon as there is room, at once if there is.
    package func whenRoom(_ call: @escaping @Sendable () -> Void) {
        let hasRoom = state.withLock { state in
            if state.end != nil || state.parts.cost < Self.limit { return true }
            state.onRoom = call
            return false
        }
        if hasRoom { call() }
    }

    /// Adds the end; only the first one counts.
    ///
    /// - Parameters:
    ///   - error: Why the response ended early; nil if its framing announced the end.
    ///   - drops: Whether waiting parts are removed. Then a response that ended well counts as ended early.
    package func end(with error: (any Error)?, drops: Bool = false) {
        let headWaiter = state.withLock { state in
            if drops { state.parts = PartQueue() }
            let isWhole = if case .some(nil) = state.end { true } else { false }
            if state.end == nil || (drops && isWhole) { state.end = .some(error) }
            return state.headWaiter.take()
        }
        headWaiter?.resume(throwing: error ?? noHead())
    }

    // MARK: From one to the other

    private enum Step {
        case pass(any Part, from: Int, Reader)
        case resume(Waiter, Result<Bool, any Error>)
        case tellRoom(@Sendable () -> Void)
        case nothing
    }

    /// Passes waiting parts to the reader, then the end; the reader may block the calling thread.
    package func drain() {
        while true {
            switch state.withLock({ Self.next(&$0) }) {
            case .pass(let part, let passed, let reader): pass(part, from: passed, to: reader)
            case .resume(let waiter, let result): waiter.resume(with: result)
            case .tellRoom(let call): call()
            case .nothing: return
            }
        }
    }

    /// Decides on the next step; parts that were added before the end are passed on before it.
    private static func next(_ state: inout State) -> Step {
        if state.isReading { return .nothing }
        // Not only when nothing is left, so that receiving and writing go on at the same time.
        if state.end != nil || state.parts.cost <= limit / 2, let call = state.onRoom.take() { return .tellRoom(call) }
        guard let reader = state.reader else { return .nothing }
        if let part = state.parts.first {
            state.isReading = true
            return .pass(part, from: state.parts.passed, reader)
        }
        guard let error = state.end, let waiter = state.waiter.take() else { return .nothing }
        state.reader = nil
        return .resume(waiter, error.map { .failure($0) } ?? .success(false))
    }

    private func pass(_ part: any Part, from passed: Int, to reader: Reader) {
        var end = passed
        var isWhole = true
        let mayGoOn = Result {
            try part.read { bytes in
                end = min(passed + PartStream.pieceSize, bytes.byteCount)
                isWhole = end == bytes.byteCount
                return try reader(bytes.extracting(passed..<end))
            }
        }
        let waiter = state.withLock { state -> Waiter? in
            state.isReading = false
            state.parts.advance(to: end, isWhole: isWhole)
            if case .success(true) = mayGoOn, state.reader != nil { return nil }
            state.reader = nil
            return state.waiter.take()
        }
        // If the reader stopped, or was paused, there is more to read.
        waiter?.resume(with: mayGoOn.map { _ in true })
    }

    /// Bytes of a body as a client receives them.
    package protocol Part: Sendable {
        /// The memory that the part uses, in bytes.
        var cost: Int { get }
        /// Calls a closure with the bytes.
        func read(_ body: (RawSpan) throws -> Bool) throws -> Bool
    }

    /// Parts of a body, first in, first out.
    private struct PartQueue {
        private var incoming: [any BodyMailbox.Part] = []
        /// The next ones, last first.
        private var outgoing: [any BodyMailbox.Part] = []
        /// The memory of all of them, in bytes.
        private(set) var cost = 0
        /// How many bytes of the first one were passed on.
        private(set) var passed = 0

        var isEmpty: Bool { incoming.isEmpty && outgoing.isEmpty }

        var first: (any BodyMailbox.Part)? { outgoing.last ?? incoming.first }

        /// The last one; nil if it is the first one too, and only a later one will do.
        func last(beyondFirst: Bool) -> (any BodyMailbox.Part)? {
            beyondFirst && outgoing.count + incoming.count < 2 ? nil : incoming.last ?? outgoing.first
        }

        mutating func append(_ part: any BodyMailbox.Part) {
            incoming.append(part)
            cost += part.cost
        }

        /// Records how much of the first part was passed on; ignored if all parts have been dropped.
        mutating func advance(to passed: Int, isWhole: Bool) {
            self.passed = isWhole || isEmpty ? 0 : passed
            guard isWhole else { return }
            if outgoing.isEmpty { (outgoing, incoming) = (incoming.reversed(), []) }
            cost -= outgoing.popLast()?.cost ?? 0
        }
    }
}
