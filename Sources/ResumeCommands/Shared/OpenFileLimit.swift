internal import ResumeFiles

/// The number of files, including sockets, that the process may have open at once.
package enum OpenFileLimit {
    /// The minimum for one download; with fewer, opening the store or an event loop fails.
    static let least = 64
    /// How many of them must be free, since the parent process may have left files open.
    static let leastFree = 48
    #if canImport(Darwin)
    /// Darwin refuses more than this (`OPEN_MAX`), although it reports no limit.
    private static let most: rlim_t = 10_240
    #else
    private static let most = rlim_t.max
    #endif

    /// Raises the limit to the maximum allowed for this process, which starts no children that use `select`.
    package static func raise() {
        guard var limit = current, limit.rlim_cur < min(limit.rlim_max, most) else { return }
        limit.rlim_cur = min(limit.rlim_max, most)
        // If this fails, the limit stays as it is.
        _ = unsafe setrlimit(resource, &limit)
    }

    /// Checks that there are enough for a download.
    ///
    /// - Throws: ``CommandFailure`` if there are not.
    static func requireEnough() throws {
        guard allowed >= least else {
            throw CommandFailure(
                .io, "this process may open only \(allowed) files at a time; allow at least \(least) ('ulimit -n')")
        }
        let free = available(atMost: leastFree)
        guard free >= leastFree else {
            throw CommandFailure(
                .io,
                "this process may open \(allowed) files at a time, and only \(free) of them are still free; "
                    + "allow more ('ulimit -n')")
        }
    }

    /// Returns how many threads are possible with the files that may still be opened besides those of downloads.
    ///
    /// - Throws: ``CommandFailure`` if not even one is possible.
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

    /// Returns how many more files may be opened besides those that are needed.
    static func spare(beside needed: Int, atMost most: Int) -> Int {
        max(available(atMost: needed + most) - needed, 0)
    }

    /// The limit on open files.
    private static var allowed: Int { current.map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// Returns how many more files may be opened, counting up to `most`.
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

/// The number of files that downloads have open at a time.
struct OpenFileNeed {
    /// The number of concurrent downloads.
    var downloads: Int
    /// The maximum number of connections of each download.
    var connections: Int

    /// The store's files, and those that libraries open at their first use.
    private static let store = 24
    /// The partial file, lock files, the destination's folder and a file in it.
    private static let download = 6
    /// The descriptors of an event loop; without them, SwiftNIO terminates the process.
    private static let thread = 3

    /// Returns how many files are open with a number of threads.
    func files(threads: Int) -> Int {
        Self.store + downloads * (Self.download + connections) + threads * Self.thread
    }

    /// Returns how many threads are possible.
    ///
    /// - Parameters:
    ///   - wanted: The maximum number that is useful.
    ///   - free: How many files may be opened.
    /// - Returns: At least one; nil if there are too few files for that.
    func threads(atMost wanted: Int, free: Int) -> Int? {
        let threads = min(wanted, (free - files(threads: 0)) / Self.thread)
        return threads >= 1 ? threads : nil
    }
}
