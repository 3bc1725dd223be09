#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// How many files, sockets included, the process may have open at once.
public enum OpenFileLimit {
    /// What one download needs: with fewer, opening the store or a thread's event loop fails.
    static let least: rlim_t = 64
    /// Darwin refuses more than this (`OPEN_MAX`), although it says that there is no limit.
    private static let most: rlim_t = 10_240

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
        guard let limit = current, limit.rlim_cur < least else { return }
        throw CommandFailure(
            .io, "this process may open only \(limit.rlim_cur) files at a time; allow at least \(least) ('ulimit -n')")
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
