import Synchronization

/// Cookies that requests share, as the lines of a cookie file in Netscape's format.
///
/// A jar belongs to one download and its redirects, unless the transport has one for all.
package final class CookieJar: Sendable {
    /// The jar of the download that the current task runs; nil outside of downloads.
    @TaskLocal package static var current: CookieJar?
    /// Whether its request goes to the origin that the caller named, and no redirect has left it: a certificate of the
    /// caller is presented only there.
    @TaskLocal package static var isAtCallersOrigin = true

    /// The maximum number of lines; servers choose how many they set.
    private static let most = 3_000

    private let state: Mutex<[String]>

    /// Makes a jar with lines of a cookie file.
    package init(_ lines: [String] = []) { state = Mutex(lines) }

    package var lines: [String] { state.withLock { $0 } }

    /// Records what one exchange has changed.
    ///
    /// - Parameters:
    ///   - before: The lines that the exchange began with.
    ///   - after: Those at its end.
    package func update(from before: [String], to after: [String]) {
        guard before != after else { return }
        let known = Set(before)
        let added = after.filter { !known.contains($0) }
        let replaced = known.subtracting(after).union(added)
        state.withLock { lines in lines = (lines.filter { !replaced.contains($0) } + added).suffix(Self.most) }
    }
}
