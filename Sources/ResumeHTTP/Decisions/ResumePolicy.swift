/// On which terms a download is continued: what is asked, and what proves that bytes belong together.
public struct ResumePolicy: Sendable, Hashable {
    /// How the server is made to compare the validator that is held with its own.
    ///
    /// Whichever it is, an answer is used only if it carries the validator itself.
    public enum Condition: String, Sendable, Hashable, CaseIterable {
        /// `If-Range`: the rest if it is unchanged, else the whole, in one request.
        case ifRange = "if-range"
        /// `If-Match`: the rest if it is unchanged, else 412. For object stores, and for those who know no `If-Range`.
        case ifMatch = "if-match"
        /// A HEAD request first, whose answer is compared here; then a range without a condition.
        case head
    }

    /// How many bytes before the first missing one are asked for again and compared, where nothing else is said.
    ///
    /// nginx and Caddy give different bytes the same strong entity tag when a file is replaced within a
    /// second; aiohttp and moto answer 206 whatever `If-Range` says.
    public static let defaultOverlap: Int64 = 4096

    /// How many bytes must be fetched again and be the same where there is neither validator nor digest.
    public static let unvalidatedOverlap: Int64 = 65_536

    /// How the server compares.
    public var condition: Condition
    /// Bytes to fetch again and compare; 0 turns it off.
    public var overlap: Int64
    /// Goes on without a validator, where ``hasDigest`` or an overlap of ``unvalidatedOverlap`` can prove the bytes.
    public var allowsUnvalidated: Bool
    /// Whether the caller knows the digest of the whole, and compares it at the end.
    public var hasDigest: Bool
    /// Takes what is coded (compressed), and stores it as it was sent; else such an answer is refused.
    ///
    /// Nothing is ever decoded. The codings asked for are set on the request, in place of the plan's `identity`.
    public var storesCoded: Bool
    /// Asks the server also where every byte is held and was fetched with the very same request.
    ///
    /// For callers with conditions that only an answer can meet, such as where redirects lead.
    public var confirmsComplete = false

    /// Makes a policy; the defaults suit most servers.
    public init(
        condition: Condition = .ifRange, overlap: Int64 = ResumePolicy.defaultOverlap, allowsUnvalidated: Bool = false,
        hasDigest: Bool = false, storesCoded: Bool = false
    ) {
        self.condition = condition
        self.overlap = overlap
        self.allowsUnvalidated = allowsUnvalidated
        self.hasDigest = hasDigest
        self.storesCoded = storesCoded
    }

    /// The bytes to compare before what is missing, as much as these terms need.
    func overlap(for validator: Validator?) -> Int64 {
        let least = validator == nil && !hasDigest ? Self.unvalidatedOverlap : 0
        return max(overlap, least)
    }
}
