package import HTTPTypes

/// Why a response is not taken for a new version of a file: it contradicts what is known of the file.
///
/// Such a response is a failure for now, and the stored bytes are kept: login pages, error pages and broken caches
/// answer with status 200 too.
package enum Contradiction: Sendable, Hashable {
    /// A page in place of the file, from another host or of another size.
    case page
    /// The strong entity tag of the file with another length.
    case tag(from: Int64, to: Int64)
    /// Nothing, as much as the requested rest, or less than half without a validator although the file had one, or
    /// although bytes of it are stored.
    case shrunk(from: Int64, to: Int64)

    /// Compares a response with the stored file; nil if it may be the file, or another version of it.
    ///
    /// - Parameters:
    ///   - fresh: The representation of the response, with its complete length.
    ///   - stored: The stored representation, or the delivered one.
    ///   - held: The number of stored bytes, which the file has at least.
    ///   - context: Where the response is from.
    init?(
        of fresh: Representation, with stored: Representation, held: Int64 = 0, in context: AnswerContext
    ) {
        let old = stored.completeLength ?? held
        let new = fresh.completeLength
        let isShort = new.map { $0 < old / 2 } ?? false
        if fresh.isPage, stored.mediaType.map({ $0 != fresh.mediaType }) ?? context.isNameOfFile,
            context.isFromOtherHost || isShort || new == nil || fresh.hasNoValidators && stored.validator != nil
        {
            self = .page
        } else if let new, case .entityTag? = stored.validator, fresh.validator == stored.validator,
            stored.completeLength.map({ $0 != new }) ?? (new < held)
        {
            self = .tag(from: old, to: new)
        } else if let new, old > 0,
            new == 0 || new == context.rest && new < old || isShort && fresh.validator == nil && stored.validator != nil
                || isShort && fresh.hasNoValidators && held > 0
                || isShort && context.isFromOtherHost && fresh.mediaType != stored.mediaType
        {
            self = .shrunk(from: old, to: new)
        } else {
            return nil
        }
    }

    /// Looks for a page in a response to the first request of a download.
    init?(of fresh: Representation, in context: AnswerContext) {
        guard fresh.isHTML, context.isFromOtherHost, context.isNameOfFile else { return nil }
        self = .page
    }

    /// The contradiction in words.
    package func reason(in context: AnswerContext) -> Reason {
        let host = context.sender?.host ?? context.url?.host ?? "the server"
        let isFirst = context.home == nil && context.replaced == nil && context.delivered == nil
        return switch self {
        case .page: Reason("portal-suspected", [.isContradiction], with: host, isFirst ? "" : "What you have is kept; ")
        case .tag(let old, let new): Reason("tag-contradiction", [.isContradiction], with: host, new, old)
        case .shrunk(let old, let new): Reason("file-shrunk", [.isContradiction], with: host, new, old)
        }
    }
}

/// What a response is judged by, besides its head and the stored bytes.
package struct AnswerContext: Sendable, Hashable {
    /// The address that sent the response; nil if it is the requested one.
    package var sender: DownloadURL?
    package var url: DownloadURL?
    /// The address that sent the stored bytes; nil if that is the requested one.
    package var home: DownloadURL?
    /// What the stored bytes replace, which a response must not contradict either; nil if they replace nothing.
    package var replaced: HeldPartial?
    /// The number of bytes in the range that was requested; nil if the whole file was.
    var rest: Int64?
    /// The file that was delivered earlier, if no bytes are stored.
    var delivered: Representation?
    /// The contradictions that have come before.
    package var sightings: Sightings?
    /// The days since 1970.
    package var day: Int64 = 0
    /// Whether the caller restarts the download, whatever the server sends.
    package var isRestart = false

    /// Creates a context for a response from a URL.
    package init(sender: DownloadURL? = nil, url: DownloadURL? = nil, delivered: Representation? = nil) {
        self.sender = sender
        self.url = url
        self.delivered = delivered
    }

    /// Whether another host sent the response than the one that sent the stored bytes.
    var isFromOtherHost: Bool {
        guard let from = sender ?? url, let home = home ?? url else { return false }
        return from.host != home.host
    }

    /// Whether a response is believed although it contradicts the stored file: a page never is, others are after they
    /// have come on several days.
    func believes(_ contradiction: Contradiction, of fresh: Representation) -> Bool {
        isRestart
            || contradiction != .page && Sightings(of: fresh, on: day, after: sightings).days >= Sightings.enough
    }

    /// Whether the name ends like an archive, an image, a package or a model, which no server sends as a page.
    package var isNameOfFile: Bool {
        guard let name = url?.lastPathComponent, let dot = name.lastIndex(of: ".") else { return false }
        return Self.extensions.contains(name[name.index(after: dot)...].lowercased())
    }

    private static let extensions = WordTable.words("file-extensions")
}

/// On how many days the same contradicting response has come, without the known file between.
package struct Sightings: Sendable, Hashable {
    /// After this number of days a response is believed.
    static let enough = 3

    /// What the response says of its representation.
    let answer: String
    /// The number of days on which it has come.
    let days: Int
    /// The last of them, since 1970.
    let lastDay: Int64

    /// Counts a response; several on one day count once.
    package init(of fresh: Representation, on day: Int64, after earlier: Sightings?) {
        let words = [
            fresh.entityTag?.rawValue, fresh.lastModified, fresh.completeLength.map(String.init), fresh.mediaType,
        ]
        // FNV-1a: a server gains nothing by another response with the same number.
        let hash = words.map { $0 ?? "-" }.joined(separator: "\n").utf8
            .reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        answer = String(hash, radix: 16)
        let isSame = earlier?.answer == answer
        days = isSame ? (earlier?.days ?? 0) + (earlier?.lastDay == day ? 0 : 1) : 1
        lastDay = day
    }

    /// Parses a stored text; nil if it was damaged or manipulated.
    package init?(stored: String) {
        let words = stored.split(separator: " ")
        guard words.count == 3, let days = Int(words[0]),
            (1...Self.enough).contains(days), let day = Int64(words[1])
        else { return nil }
        self.days = days
        lastDay = day
        answer = String(words[2])
    }

    /// The text to store.
    package var stored: String { "\(min(days, Self.enough)) \(lastDay) \(answer)" }
}

extension Representation {
    /// Reads what a response says of the whole file, of which it may have a part.
    package init(announcedBy response: HTTPResponse) {
        self.init(startedBy: response)
        if case .bytes(_, _, let length) = ContentRange(in: response.headerFields) { completeLength = length }
    }

    /// Whether it is HTML or JSON, as login pages and error messages are.
    var isPage: Bool {
        isHTML || mediaType.map { $0.hasSuffix("/json") || $0.hasSuffix("+json") } ?? false
    }

    var isHTML: Bool { mediaType.map { $0 == "text/html" || $0 == "application/xhtml+xml" } ?? false }

    fileprivate var hasNoValidators: Bool { entityTag == nil && lastModified == nil }
}
