import ResumeFiles

/// A file of the store by which `resumectl set` passes a limit on to running processes.
struct RateFile {
    /// The limits, by the names of their options and files.
    enum Limit: String {
        /// That of each download.
        case each = "limit-rate"
        /// That of all downloads together.
        case total = "total-rate"
    }

    private static let longest = 1024

    private let path: String
    /// The status of the file when it was read last, which differs for each new file.
    private var seen: FileStatus?

    /// Makes the file of a limit, of which a limit that was set before does not count.
    init(_ limit: Limit, in store: String) {
        path = Self.path(of: limit, in: store)
        _ = changed()
    }

    static func path(of limit: Limit, in store: String) -> String { "\(store)/\(limit.rawValue)" }

    /// Returns the limit if it was set since the last call; what is not a limit changes nothing.
    mutating func changed() -> RatePlan? {
        guard let file = try? OpenFile(path, flags: O_RDONLY | O_NONBLOCK), let status = try? file.status(),
            status != seen
        else { return nil }
        seen = status
        return RatePlan(String(decoding: (try? file.bytes(Self.longest)) ?? [], as: UTF8.self))
    }
}
