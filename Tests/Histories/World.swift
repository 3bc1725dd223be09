internal import Foundation
internal import HTTPTypes
internal import Synchronization
internal import TestSupport

/// What the server of a history has: files for each caller, of which the last version is the current one.
///
/// The same file may have other bytes for another caller, and files may have the same entity tag, as on a server that
/// makes it from length and time.
package final class World: Sendable {
    /// How a caller shows who it is.
    package enum Style: Sendable, CaseIterable {
        /// Both callers get the same.
        case open
        /// By a parameter of the URL that counts as a secret.
        case token
        /// By the field Authorization.
        case authorization
    }

    /// A file, or a redirect to another one.
    struct File: Sendable {
        /// For each caller its versions; both have the same ones if the style is open.
        var versions: [[Version]]
    }

    private struct State {
        var files: [String: File]
        /// The path that `/latest.zip` leads to.
        var latest = "/a.zip"
        /// What callers may get by an answer that was neither the current version nor a contradiction.
        var granted: [Int: [Version]] = [:]
    }

    static let origin = "https://files.test"
    static let login = "https://login.test"

    package let style: Style
    private let state: Mutex<State>

    /// Makes the files of a history.
    init(_ chance: inout SplitMix64) {
        style = chance.pick(Style.allCases)
        let length = Self.length(&chance)
        let kind = Int.random(in: 0..<10, using: &chance)
        var files: [String: File] = [:]
        for (number, path) in ["/a.zip", "/b.zip"].enumerated() {
            // The same length and tag as the other ones, as on servers that make the tag from length and time.
            let isTwin = chance.happens(60)
            let length = isTwin ? length : Self.length(&chance)
            let callers = style == .open ? 1 : 2
            files[path] = File(
                versions: (0..<callers).map { caller in
                    let bytes = Self.bytes(number * 2 + caller, length, &chance)
                    let name = isTwin ? "twin" : "\(number)\(caller)"
                    return [Self.version(bytes, named: name, kind)]
                })
        }
        state = Mutex(State(files: files))
    }

    private static func length(_ chance: inout SplitMix64) -> Int {
        let bound = chance.pick([1, 100, 5_000, 20_000, 70_000, 200_000, chance.happens(20) ? 900_000 : 30_000])
        return Int.random(in: chance.happens(5) ? 0...bound : max(bound / 2, 1)...bound, using: &chance)
    }

    /// The bytes with a number, or those of the first number but for some in the middle or from an offset on.
    private static func bytes(_ number: Int, _ length: Int, _ chance: inout SplitMix64) -> [UInt8] {
        guard length > 0, chance.happens(60) else { return Pool.bytes(number, length) }
        let start = Int.random(in: 0..<length, using: &chance)
        let end = chance.happens(50) ? length : Int.random(in: start..<length, using: &chance)
        return Pool.bytes(0, length, with: number, in: start..<end)
    }

    private static func version(_ bytes: [UInt8], named name: String, _ kind: Int) -> Version {
        var version = Version(bytes: bytes)
        let isWeak = kind == 0
        if kind < 8 { version.tag = "\(isWeak ? "W/" : "")\"\(name)\"" }
        // Old enough to be a strong validator.
        if kind > 5 { version.lastModified = "Wed, 01 Jul 2026 10:00:\(name.utf8.count + 10) GMT" }
        return version
    }

    /// Replaces the current version of a file; it may keep the old one's tag.
    func change(_ path: String, _ chance: inout SplitMix64) {
        let length = Self.length(&chance)
        let keepsTag = chance.happens(25)
        let keepsLength = chance.happens(70)
        state.withLock { state in
            guard let file = state.files[path] else { return }
            let number = file.versions[0].count
            state.files[path] = File(
                versions: file.versions.enumerated().map { caller, versions in
                    guard let old = versions.last else { return versions }
                    // Bytes that differ from those of all versions before at each position.
                    let bytes = Pool.bytes(4 + number * 2 + caller, keepsLength || keepsTag ? old.bytes.count : length)
                    var new = Version(bytes: bytes, tag: old.tag, lastModified: old.lastModified)
                    if !keepsTag, old.tag != nil { new.tag = old.tag.map { "\($0.dropLast())-\(number)\"" } }
                    if !keepsTag, old.lastModified != nil { new.lastModified = Self.date(number) }
                    return versions + [new]
                })
        }
    }

    private static func date(_ number: Int) -> String { "Thu, 02 Jul 2026 10:00:\(number + 10) GMT" }

    /// Lets `/latest.zip` lead to another file.
    func moveLatest() {
        state.withLock { $0.latest = $0.latest == "/a.zip" ? "/b.zip" : "/a.zip" }
    }

    var latest: String { state.withLock { $0.latest } }

    /// Returns the current version of a file for a caller; nil if there is no such file.
    func current(_ path: String, for caller: Int) -> Version? {
        state.withLock { state in
            let versions = state.files[path]?.versions
            return versions?[min(caller, (versions?.count ?? 1) - 1)].last
        }
    }

    /// Returns all versions that a caller may have of a URL: `/latest.zip` may have led to each file.
    func versions(_ path: String, for caller: Int) -> [Version] {
        let caller = shown(caller)
        return state.withLock { state in
            let paths = path == "/latest.zip" ? ["/a.zip", "/b.zip"] : [path]
            let own = paths.flatMap { path in
                state.files[path].map { $0.versions[min(caller, $0.versions.count - 1)] } ?? []
            }
            return own + (state.granted[caller] ?? [])
        }
    }

    /// The caller that a request shows; 0 if both send the same.
    func shown(_ caller: Int) -> Int { style == .open ? 0 : caller }

    /// Records that a caller may get something that no file has: the server says so, and nothing contradicts it.
    func grant(_ version: Version, to caller: Int) {
        state.withLock { $0.granted[shown(caller), default: []].append(version) }
    }
}
