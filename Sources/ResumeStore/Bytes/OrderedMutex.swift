import ResumeFiles
import Synchronization

/// A mutex with a place in the order of locks.
///
/// A thread locks it only if it holds none with the same or a later place; a debug build stops otherwise.
struct OrderedMutex<Value: ~Copyable>: ~Copyable, Sendable {
    /// The order of the locks of a transfer, the first one first.
    enum Place: Int32 {
        /// During a commit: before the lock of the connection.
        case commit = 1
        /// During a write, and so never before that of a commit.
        case body
        /// Only to begin or end a task that commits later.
        case look
        /// After all others, and never during I/O.
        case state
    }

    private let place: Place
    private let mutex: Mutex<Value>

    init(_ place: Place, _ value: consuming sending Value) {
        self.place = place
        mutex = Mutex(value)
    }

    borrowing func withLock<Result: ~Copyable, Failure>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if DEBUG
        let outer = unsafe resume_files_lock_place().pointee
        precondition(outer < place.rawValue, "a lock is taken out of order: \(place) after \(outer)")
        unsafe resume_files_lock_place().pointee = place.rawValue
        defer { unsafe resume_files_lock_place().pointee = outer }
        #endif
        return try mutex.withLock(body)
    }
}
