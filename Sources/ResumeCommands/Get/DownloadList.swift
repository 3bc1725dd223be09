internal import ResumeHTTP

/// The downloads of one run, with a file for each.
///
/// Two of them never have the same file.
struct DownloadList {
    /// One download, whose request is made when it starts, since a request uses much more memory.
    struct Item: Sendable {
        let url: DownloadURL
        /// The path to which it is delivered.
        var path: String
        /// Where its URL was given.
        let position: Position
        /// The digest of a list of checksums; nil if there is none.
        let digest: HTTPDigest?
        /// The value of `Authorization` of a list of passwords; nil if there is none.
        let authorization: String?
    }

    /// Where a URL was given.
    enum Position: Sendable {
        /// An argument, by its index among the URLs.
        case argument(Int)
        /// A line of the input file.
        case line(Int)
    }

    /// A download whose file is already that of another one.
    struct Clash: Sendable {
        let item: Item
        let first: Position
    }

    /// The downloads in the order in which they were given.
    private(set) var items: [Item] = []
    /// The downloads that cannot be started.
    private(set) var clashes: [Clash] = []
    /// The failures of lines that are no URL.
    private(set) var rejected: [CommandFailure] = []
    /// The number of requested downloads.
    var count: Int { items.count + clashes.count + rejected.count }
    /// Indices of items by the name that must be unique.
    private var taken: [String: Int] = [:]
    /// The last number that was added to a path.
    private var lastNumbers: [String: Int] = [:]
    /// The downloads that have been renamed, by the path that they would have had.
    private var renamed: [String: Set<DownloadURL>] = [:]
    private let renames: Bool

    /// Makes an empty list.
    ///
    /// - Parameter renames: Whether files of the same name are numbered; otherwise only the first one is downloaded.
    init(renames: Bool) { self.renames = renames }

    /// Adds a download, unless it is there already.
    ///
    /// - Parameters:
    ///   - item: The download.
    ///   - isNamedByServer: Whether the server names the file, so that URLs with the same file name do not conflict.
    mutating func add(_ item: Item, isNamedByServer: Bool) {
        let name = isNamedByServer ? item.url.absoluteString : item.path
        guard let first = taken[name].map({ items[$0] }) else { return append(item, as: name) }
        // Repeated URLs are one download.
        if first.url == item.url || renamed[item.path]?.contains(item.url) == true { return }
        guard renames else {
            clashes.append(Clash(item: item, first: first.position))
            return
        }
        renamed[item.path, default: []].insert(item.url)
        var item = item
        item.path = freePath(for: item.path)
        append(item, as: item.path)
    }

    /// Records that a line is no URL.
    mutating func reject(because failure: CommandFailure) { rejected.append(failure) }

    private mutating func append(_ item: Item, as name: String) {
        taken[name] = items.count
        items.append(item)
    }

    private mutating func freePath(for path: String) -> String {
        var number = lastNumbers[path] ?? 0
        var numbered = path
        repeat {
            number += 1
            numbered = Self.numbered(path, number)
        } while taken[numbered] != nil
        lastNumbers[path] = number
        return numbered
    }

    /// Returns the path with a number before the extension of the file: `image.1.iso`.
    static func numbered(_ path: String, _ number: Int) -> String {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        let name = path[start...]
        // The dot of a hidden file does not begin an extension.
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > start else { return "\(path).\(number)" }
        return "\(path[..<dot]).\(number)\(path[dot...])"
    }
}
