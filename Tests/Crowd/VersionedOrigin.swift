internal import Foundation
internal import OriginServer
internal import Synchronization

/// The files that the crowd downloads: some stay, others are replaced from time to time, with a history for each.
final class VersionedOrigin: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A version of a path.
    struct Version: Sendable {
        let resource: Resource
        let from: Instant
        /// When the next one replaced it; nil for the current one.
        var until: Instant?

        var content: Content { resource.content }

        /// Whether the server had it at some time in a span.
        func overlaps(_ span: ClosedRange<Instant>) -> Bool {
            from <= span.upperBound && (until.map { $0 >= span.lowerBound } ?? true)
        }
    }

    /// How a file behaves.
    private enum Kind: CaseIterable {
        /// It never changes.
        case steady
        /// It is replaced, with another entity tag.
        case tagged
        /// It is replaced, with another date and no entity tag.
        case dated
    }

    private struct File {
        let kind: Kind
        var versions: [Version]
    }

    /// The length of the shortest file, in bytes.
    static let shortest = 200_000
    private static let longest = 3_000_000
    private static let steadyCount = 4
    private static let taggedCount = 7
    private static let datedCount = 2

    private let chance: Chance
    private let files: Mutex<[String: File]>
    let paths: [String]

    init(chance: Chance) {
        self.chance = chance
        let kinds =
            Array(repeating: Kind.steady, count: Self.steadyCount) + Array(repeating: .tagged, count: Self.taggedCount)
            + Array(repeating: .dated, count: Self.datedCount)
        var files: [String: File] = [:]
        for (number, kind) in kinds.enumerated() {
            files["/\(kind)\(number)"] = File(kind: kind, versions: [Self.version(kind, number: 1, chance)])
        }
        paths = files.keys.sorted()
        self.files = Mutex(files)
    }

    private static func version(_ kind: Kind, number: Int, _ chance: Chance) -> Version {
        let content = Content(length: Int64(chance.number(shortest...longest)), seed: chance.seed())
        let resource =
            kind == .dated
            ? Resource(content, lastModified: date(number)) : Resource(content, etag: "\"v\(number)\"")
        return Version(resource: resource, from: .now)
    }

    /// An HTTP date.
    ///
    /// Successive ones are two days apart and long past, so that each is a strong validator.
    private static func date(_ number: Int) -> String {
        var seconds = time_t(1_000_000_000 + number * 2 * 86_400)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Replaces one of the files that change.
    func replaceOne() {
        files.withLock { files in
            guard let path = chance.pick(files.keys.sorted().filter { files[$0]?.kind != .steady }),
                var file = files[path]
            else { return }
            let next = Self.version(file.kind, number: file.versions.count + 1, chance)
            file.versions[file.versions.count - 1].until = next.from
            file.versions.append(next)
            files[path] = file
        }
    }

    /// All versions of a path so far.
    func versions(of path: String) -> [Version] {
        files.withLock { $0[path]?.versions ?? [] }
    }

    /// Answers slowly enough to be disturbed, and does not always finish.
    func answer(_ request: OriginRequest) -> Response {
        guard let version = versions(of: request.path).last else {
            return Response([.head(status: "404 Not Found", fields: [("Content-Length", "0")])])
        }
        let rate = chance.number(400_000...6_000_000)
        let cut = chance.happens(15) ? Int64(chance.number(1...1_500_000)) : nil
        return .file(
            version.resource, for: request, cutAfter: cut, reset: chance.happens(30), bytesPerSecond: rate)
    }
}
