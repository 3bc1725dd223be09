package import ResumeHTTP

/// A request of a queue as stored, without secrets.
package struct QueuedRequest: Sendable, Hashable {
    /// The state of the request.
    package enum State: String, Sendable, Hashable {
        case waiting, running, paused
        /// Nothing: all of its deliveries failed permanently. It runs again after a resume or a new request.
        case failed
    }

    /// The row's ID, which is never reused; nil if there is no row.
    package var id: Int64?
    /// The key of the download in the store.
    package var key: String
    /// The URL without user info and signature.
    package var url: String
    /// The absolute path of the destination.
    package var destination: String
    package var state: State
    package var priority: Int64
    package var isExclusive: Bool
    /// Among requests with the same priority, those with a higher position run first.
    package var position: Int64
    /// The other conditions of the request, encoded by the queue; nil if they cannot be stored completely.
    package var terms: String?
    /// Why it failed permanently; nil if it did not.
    package var failure: Reason?
    /// The number of its stored bytes; read-only.
    package var receivedBytes: Int64 = 0
    /// The total number of its bytes, if it is known; read-only.
    package var totalBytes: Int64?

    package init(
        id: Int64? = nil, key: String, url: String, destination: String, state: State, priority: Int64,
        isExclusive: Bool,
        position: Int64, terms: String?, failure: Reason? = nil
    ) {
        self.id = id
        self.key = key
        self.url = url
        self.destination = destination
        self.state = state
        self.priority = priority
        self.isExclusive = isExclusive
        self.position = position
        self.terms = terms
        self.failure = failure
    }
}
