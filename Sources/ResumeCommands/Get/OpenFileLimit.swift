internal import ResumeFiles

/// How many files, sockets included, the process may have open at once.
public enum OpenFileLimit {
    /// What one download needs: with fewer, opening the store or a thread's event loop fails.
    static let least = 64
    /// How many of them must be free: the parent process may have left files open.
    static let leastFree = 48
    #if canImport(Darwin)
    /// Darwin refuses more than this (`OPEN_MAX`), although it says that there is no limit.
    private static let most: rlim_t = 10_240
    #else
    private static let most = rlim_t.max
    #endif

    /// Raises the limit to what the system allows this process; children that use `select` are not started here.
    public static func raise() {
        guard var limit = current, limit.rlim_cur < min(limit.rlim_max, most) else { return }
        limit.rlim_cur = min(limit.rlim_max, most)
        // Where this fails the limit stays.
        _ = unsafe setrlimit(resource, &limit)
    }

    /// Fails where there are too few for a download.
    ///
    /// - Throws: ``CommandFailure``
    static func requireEnough() throws {
        guard allowed >= least else {
            throw CommandFailure(
                .io, "this process may open only \(allowed) files at a time; allow at least \(least) ('ulimit -n')")
        }
        let free = available(atMost: leastFree)
        guard free >= leastFree else {
            throw CommandFailure(
                .io,
                "this process may open \(allowed) files at a time, of which all but \(free) are open already; "
                    + "allow more ('ulimit -n')")
        }
    }

    /// How many threads the files that may still be opened are enough for, beside what downloads need.
    ///
    /// - Throws: ``CommandFailure`` where they are not enough for one.
    static func threads(atMost wanted: Int, for need: OpenFileNeed) throws -> Int {
        let free = available(atMost: need.files(threads: wanted))
        guard let threads = need.threads(atMost: wanted, free: free) else {
            throw CommandFailure(
                .io,
                "\(need.downloads) downloads at a time need \(need.files(threads: 1)) open files, and this process may "
                    + "open only \(free) more; set a lower --max-concurrent or --connections, or allow more ('ulimit -n')"
            )
        }
        return threads
    }

    /// How many more files may be opened beside those that are needed.
    static func spare(beside needed: Int, atMost most: Int) -> Int {
        max(available(atMost: needed + most) - needed, 0)
    }

    /// How many files may be open.
    private static var allowed: Int { current.map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// How many more files may be opened; more than `most` are not counted.
    private static func available(atMost most: Int) -> Int {
        var free = 0
        var descriptor: Int32 = 0
        let end = min(allowed, Int(Int32.max))
        while free < most, descriptor < end {
            if fcntl(descriptor, F_GETFD) == -1 { free += 1 }
            descriptor += 1
        }
        return free
    }

    private static var current: rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(resource, &limit) == 0 ? limit : nil
    }

    #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
    private static var resource: CInt { RLIMIT_NOFILE }
    #endif
}

/// How many files downloads have open at a time.
struct OpenFileNeed {
    /// How many downloads run at a time.
    var downloads: Int
    /// How many connections each of them has at most.
    var connections: Int

    /// The store's files, and what libraries open when they are used first.
    private static let store = 24
    /// The blob, files of locks, the destination's folder and a file in it.
    private static let download = 6
    /// The descriptors of an event loop: without them SwiftNIO ends the process.
    private static let thread = 3

    /// How many files are open with a number of threads.
    func files(threads: Int) -> Int {
        Self.store + downloads * (Self.download + connections) + threads * Self.thread
    }

    /// How many threads there can be.
    ///
    /// - Parameters:
    ///   - wanted: The most that are of use.
    ///   - free: How many files may be opened.
    /// - Returns: At least one; nil where there are too few files for that.
    func threads(atMost wanted: Int, free: Int) -> Int? {
        let threads = min(wanted, (free - files(threads: 0)) / Self.thread)
        return threads >= 1 ? threads : nil
    }
}
