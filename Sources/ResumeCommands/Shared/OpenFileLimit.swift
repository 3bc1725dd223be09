import ResumeFiles
import ResumeHTTP

/// The number of files, including sockets, that the process may have open at once.
enum OpenFileLimit {
    /// How many must be free for one download, of at least 64 that are allowed; with fewer, opening the store or a connection fails.
    static let leastFree = 48
    #if canImport(Darwin)
    /// Darwin refuses more than this (`OPEN_MAX`), although it reports no limit.
    private static let most: rlim_t = 10_240
    #else
    private static let most = rlim_t.max
    #endif

    /// Raises the limit to the maximum allowed for this process, which starts no children that use `select`.
    static func raise() {
        guard var limit = current, limit.rlim_cur < min(limit.rlim_max, most) else { return }
        limit.rlim_cur = min(limit.rlim_max, most)
        // If this fails, the limit stays as it is.
        _ = unsafe setrlimit(resource, &limit)
    }

    /// Checks that there are enough for a download.
    ///
    /// - Throws: ``CommandFailure`` if there are not.
    static func requireEnough() throws {
        let free = available(atMost: leastFree)
        guard allowed >= 64, free >= leastFree else {
            throw CommandFailure(.io, sentence("files-needed", leastFree))
        }
    }

    /// Returns how many network threads downloads may have, and how many more files may be opened besides.
    ///
    /// - Parameters:
    ///   - downloads: How many run at a time.
    ///   - connections: The maximum number of connections of each download.
    ///   - threads: The maximum number of threads that is useful.
    ///   - most: Up to how many further files are counted.
    /// - Returns: Both numbers.
    /// - Throws: ``CommandFailure`` if not even one thread is possible.
    static func room(
        for downloads: Int, connections: Int, threads: Int, besides most: Int
    ) throws -> (threads: Int, spare: Int) {
        // Each thread has two to be woken, and opens one more for look-ups of names. The store has 26 with those that
        // libraries open at their first use; a download has the partial file, locks, a folder and a file in it.
        let thread = 3
        let needed = 26 + downloads * (6 + connections)
        let free = available(atMost: needed + threads * thread + most)
        let threads = min(threads, (free - needed) / thread)
        guard threads > 0 else {
            throw CommandFailure(.io, sentence("files-lacking", downloads, needed + thread, free))
        }
        return (threads, free - needed - threads * thread)
    }

    /// The limit on open files.
    private static var allowed: Int { current.map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// Returns how many more files may be opened, counting up to `most`.
    private static func available(atMost most: Int) -> Int {
        // Each descriptor is looked at once, since other threads open files.
        var free = 0
        for descriptor in 0..<Int32(clamping: allowed) where fcntl(descriptor, F_GETFD) == -1 {
            free += 1
            if free == most { break }
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
