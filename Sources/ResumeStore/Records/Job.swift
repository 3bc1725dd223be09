package import ResumeHTTP

/// A file as it was delivered, by which a later run recognizes it.
package struct DeliveredFile: Sendable, Hashable {
    /// The length in bytes.
    package var size: Int64
    /// When its bytes were last modified, in milliseconds since 1970.
    package var modifiedAt: Int64
    /// The bytes of its entity tag, which may be weak; nil if the server sent none.
    package var entityTag: [UInt8]?
    /// The field Last-Modified; nil if the server sent none.
    package var lastModified: String?
    /// The hash of the request that brought it; nil if it is unknown.
    var requester: [UInt8]?
}

/// A download that the command line was asked for: a row of its queue.
package struct Job: Sendable, Hashable {
    /// The state of a job.
    package enum State: String, Sendable, Hashable {
        case waiting, running, paused
        /// It failed permanently, and runs again only on request.
        case failed
        case done
        case cancelled

        /// Whether `resume` runs it without being told its name.
        package var isLeft: Bool { self != .done && self != .cancelled }

        /// Whether nothing is left to do without a new request.
        package var isEnded: Bool { self == .failed || self == .done || self == .cancelled }
    }

    package var id: Int64
    /// The key of the download in the store.
    package var key: String
    /// The URL without user info and signature.
    package var url: String
    /// The absolute path of the destination.
    package var destination: String
    package var state: State
    /// How often it was started.
    package var attempts: Int64
    /// The run that asked for it last.
    package var list: Int64
    /// The other conditions of the request, as encoded by the caller.
    package var terms: String?
    /// Why the last attempt failed; nil if it did not.
    package var failure: Reason?
    /// The delivered file; nil before the first delivery.
    package var file: DeliveredFile?
    /// The number of its stored bytes.
    package var receivedBytes: Int64 = 0
    /// The total number of its bytes, if it is known.
    package var totalBytes: Int64?
}

/// A download to be recorded as a job.
package struct NewJob: Sendable {
    package var key: String
    package var url: String
    package var destination: String
    package var terms: String?
    package var identity: RequestIdentity

    package init(key: String, url: String, destination: String, terms: String?, identity: RequestIdentity) {
        self.key = key
        self.url = url
        self.destination = destination
        self.terms = terms
        self.identity = identity
    }
}

/// A recorded job, and what was known of it before.
package struct EnlistedJob: Sendable {
    package var id: Int64
    /// The job as it was found; nil if it is new.
    package var known: Job?
    /// Whether it is done, and others of its list are not.
    package var isDone: Bool
    /// Whether the delivered file was fetched with the same request.
    package var isOfSameRequest: Bool
}
