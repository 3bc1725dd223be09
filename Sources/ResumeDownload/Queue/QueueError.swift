/// A request that a queue does not take, or has let go.
///
/// Two errors are equal when their codes are.
public struct QueueError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, stable from release to release.
        public let description: String

        private init(_ name: String) { description = name }

        /// The queue is closed; what it had still to do goes on when it is opened again.
        public static let closed = Code("closed")
        /// The download was cancelled, by somebody else than who waits for it.
        public static let cancelled = Code("cancelled")
        /// The request contradicts another one for the same download.
        public static let conflict = Code("conflict")
    }

    /// The kind of failure.
    public var code: Code
    /// What happened and what to do about it.
    public var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }

    /// Equality on the code.
    public static func == (left: QueueError, right: QueueError) -> Bool { left.code == right.code }

    static let closed = QueueError(
        .closed, "the queue is closed; its unfinished downloads continue when it is opened again")
    static let cancelled = QueueError(
        .cancelled, "the download was cancelled in the queue; add it again to resume it")
}
