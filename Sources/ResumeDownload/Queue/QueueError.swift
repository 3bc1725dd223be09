/// An error of a queue that rejects or no longer handles a request.
///
/// Two errors are equal when their codes are.
public struct QueueError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, stable from release to release.
        public let description: String

        private init(_ name: String) { description = name }

        /// The queue is closed; its unfinished downloads continue when it is opened again.
        public static let closed = Code("closed")
        /// The download was cancelled by someone other than the caller that waits for it.
        public static let cancelled = Code("cancelled")
        /// The request conflicts with another one for the same download.
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
