package import ResumeHTTP

/// A row of a queue, without secrets: a download that a program has queued, or a job of the command line.
package struct Job: Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        case waiting, running, paused
        /// It failed permanently, and runs again only on request.
        case failed
        case done
        case cancelled

        /// Whether `resume` runs it without being told its name.
        package var isLeft: Bool { self != .done && self != .cancelled }

        /// The columns `state` and `ended`: nothing takes a job that is over for one that is left.
        var columns: (state: String, ended: String?) { isLeft ? (rawValue, nil) : (Self.failed.rawValue, rawValue) }

        /// Whether nothing is left to do without a new request.
        package var isEnded: Bool { self == .failed || self == .done || self == .cancelled }
    }

    /// What only the rows of one kind of queue have.
    package enum Kind: Sendable, Hashable {
        /// A download in the queue of a program.
        case queued(priority: Int64, isExclusive: Bool)
        /// A job: the run of the command line that asked for it last, how many of its runs have ended, other than by an
        /// interruption, and the delivered file; nil before the first delivery.
        case listed(in: Int64, attempts: Int64, file: DeliveredFile?)
    }

    /// The row's ID, which is never reused; 0 if there is no row.
    package var id: Int64
    /// The key of the download in the store.
    package var key: String
    /// The URL without user info and signature.
    package var url: String
    /// The absolute path of the destination.
    package var destination: String
    package var state: State
    package var kind: Kind
    /// Its place in the list, as numbered by the caller; in the queue of a program, those with a higher position run
    /// first.
    package var position: Int64
    /// The other conditions of the request, as encoded by the caller; nil if they cannot be stored completely.
    package var terms: String?
    /// Why the last attempt failed; nil if it did not.
    package var failure: Reason?
    /// Whether its file was in place when the job was claimed; read-only.
    package internal(set) var isInPlace = false
    /// The number of its stored bytes; read-only.
    package var receivedBytes: Int64 = 0
    /// The total number of its bytes, if it is known; read-only.
    package var totalBytes: Int64?

    package init(
        id: Int64 = 0, key: String, url: String, destination: String, state: State, priority: Int64,
        isExclusive: Bool, position: Int64, terms: String?, failure: Reason? = nil
    ) {
        self.id = id
        self.key = key
        self.url = url
        self.destination = destination
        self.state = state
        kind = .queued(priority: priority, isExclusive: isExclusive)
        self.position = position
        self.terms = terms
        self.failure = failure
    }

    package var priority: Int64 { if case .queued(let priority, _) = kind { priority } else { 0 } }
    package var isExclusive: Bool { if case .queued(_, true) = kind { true } else { false } }
    package var list: Int64 { if case .listed(let list, _, _) = kind { list } else { 0 } }
    package var attempts: Int64 { if case .listed(_, let attempts, _) = kind { attempts } else { 0 } }
    package var file: DeliveredFile? { if case .listed(_, _, let file) = kind { file } else { nil } }
}

extension JobTable {
    /// What became of the attempt to take a job.
    package enum Claim: Sendable {
        /// It is locked by the caller.
        case taken(Job)
        /// Another process runs it; nil if it cannot be read.
        case busy(Job?)
        /// It is done, and its file is in place.
        case done(Job)
        /// It was cancelled, or forgotten, or cannot be read: then nothing is known of it.
        case gone(Job?)
    }

    /// A download to be recorded as a job.
    package struct NewJob: Sendable {
        package var key: String
        package var url: String
        /// The absolute path of the destination.
        package var destination: String
        package var terms: String?
        /// Returns the identity of its request, which is needed only if the job is known.
        package var identity: @Sendable () -> RequestIdentity
        /// Its place in the list; any number.
        package var position: Int64
        /// Whether the server names the file, so that jobs of one list may have the same destination.
        package var isNamedByServer: Bool
        /// Whether the file at the destination is known to be the right one, so that it gets no number.
        package var isInPlace = false

        package init(
            key: String, url: String, destination: String, terms: String?, position: Int64,
            isNamedByServer: Bool, identity: @escaping @Sendable () -> RequestIdentity
        ) {
            self.key = key
            self.url = url
            self.destination = destination
            self.terms = terms
            self.identity = identity
            self.position = position
            self.isNamedByServer = isNamedByServer
        }
    }

    /// What became of a download that was to be recorded as a job.
    package enum Enlisted: Sendable {
        /// A job is to run, whose file may have been numbered.
        case due(Int64, destination: String)
        /// An earlier run of the same list, which is not done, has delivered its file.
        case done(Job)
        /// The list contains it already.
        case repeated
        /// Its file is that of the job at a position of the list, of a URL.
        case clash(Int64, url: String)

        /// The path of a job that is to run.
        package var destination: String? {
            if case .due(_, let destination) = self { destination } else { nil }
        }
    }

    /// How a list is recorded.
    package struct Listing: Sendable {
        /// The number of the run.
        var list: Int64 = 0
        var queue: Int64 = 0
        /// The key of the store's hashes.
        var key = HashKey.none
        /// Whether files of the same name are numbered.
        package var renames: Bool
        /// The lists that had something left to do before the first job of this one was recorded; their jobs stay done.
        package var unfinished: Set<Int64>
        /// Whether the file of a job is also one for a new job with other terms.
        package var isAnswered: @Sendable (_ new: JobTable.NewJob, _ by: Job) -> Bool

        /// Whether the jobs are done from the beginning, since no run of the queue waits for them.
        package var isDone = false

        package init(
            renames: Bool, unfinished: Set<Int64>,
            isAnswered: @escaping @Sendable (_ new: JobTable.NewJob, _ by: Job) -> Bool
        ) {
            self.renames = renames
            self.unfinished = unfinished
            self.isAnswered = isAnswered
        }
    }

    /// A row of a queue that a delivery fulfils.
    package struct QueuedRow: Sendable {
        var id: Int64
        /// The key that the row was read with.
        var key: String
        /// What a job still has to do after the delivery, as the failure of a run that does not get to it; nil if it is done.
        var rest: Reason?

        /// Makes a row.
        package init(_ job: Job, rest: Reason? = nil) { (id, key, self.rest) = (job.id, job.key, rest) }
    }
}
