package import HTTPTypes

/// The conditions for resuming a download: how to request the rest, and what proves that it belongs to the stored
/// bytes.
public struct ResumePolicy: Sendable, Hashable {
    /// How the server compares the stored validator with its own.
    ///
    /// In all cases, a response is used only if it has the same validator.
    public enum Condition: String, Sendable, Hashable, CaseIterable {
        /// `If-Range`: the server sends the rest if the file is unchanged, otherwise the whole file, in one request.
        case ifRange = "if-range"
        /// `If-Match`: the server sends the rest if the file is unchanged, otherwise 412. For object stores, and
        /// servers that do not support `If-Range`.
        case ifMatch = "if-match"
        /// A HEAD request, whose validator is compared by the client, then a range request without a condition.
        case head
    }

    /// The default number of bytes before the first missing one that are requested again and compared.
    ///
    /// nginx and Caddy use the same strong entity tag for different bytes if a file is replaced within a second;
    /// aiohttp and moto respond with 206 regardless of `If-Range`.
    package static let defaultOverlap: Int64 = 4096

    /// The number of bytes that must be received again and be the same if there is neither a validator nor a digest.
    package static let unvalidatedOverlap: Int64 = 65_536

    /// How the server compares the validator.
    var condition: Condition
    /// The number of bytes to request again and compare; 0 disables the comparison.
    package var overlap: Int64
    /// Resumes without a validator if ``digest`` or an overlap of 64 KiB can prove the bytes.
    package var allowsUnvalidated: Bool
    /// The digest that the file must have, which is compared before the delivery; nil if the caller knows none.
    package var digest: HTTPDigest?
    /// The number of bytes that the whole file must have; nil if the caller knows none.
    package var completeLength: Int64?
    /// Accepts encoded (compressed) responses and stores them as sent; otherwise they are refused.
    ///
    /// Nothing is ever decoded. Set the accepted codings on the request instead of the plan's `identity`.
    package var storesCoded: Bool
    /// The requested URL, whose ending may say that the file is stored compressed.
    package var url: DownloadURL?
    /// Sends a request even if every byte is stored and was fetched with the same request.
    ///
    /// For callers with conditions that only a response can meet, such as the destination of redirects.
    package var confirmsComplete = false

    /// The names of fields that are sent to the origin of the URL only, besides the well-known ones.
    package var secretHeaderFields: Set<HTTPField.Name> = []

    /// Creates a policy; the defaults suit most servers.
    ///
    /// - Parameters:
    ///   - condition: How the server compares the stored validator with its own.
    ///   - overlap: The number of bytes to request again and compare; 0 disables the comparison.
    ///   - allowsUnvalidated: Whether to resume without a validator if a digest or an overlap of 64 KiB can prove the
    ///     bytes.
    ///   - digest: The digest that the file must have, which is compared before the delivery; nil if unknown.
    ///   - storesCoded: Whether to accept encoded (compressed) responses and store them as sent, without ever decoding
    ///     them; otherwise they are refused.
    ///   - completeLength: The number of bytes that the whole file must have, as sent, so that another file, such as a
    ///     login page, is refused: by its head if that has a length, otherwise when it ends; nil if unknown.
    public init(
        condition: Condition = .ifRange, overlap: Int64 = 4096, allowsUnvalidated: Bool = false,
        digest: HTTPDigest? = nil, storesCoded: Bool = false, completeLength: Int64? = nil
    ) {
        self.condition = condition
        self.overlap = overlap
        self.allowsUnvalidated = allowsUnvalidated
        self.digest = digest
        self.storesCoded = storesCoded
        self.completeLength = completeLength
    }

    /// Whether a digest of the caller proves the whole file, whatever the validators say.
    package var hasProof: Bool { proof != nil }

    /// The digest of the caller, if its algorithm proves the whole file.
    package var proof: HTTPDigest? { digest.flatMap { $0.isProof ? $0 : nil } }

    /// Whether a digest of the caller that proves nothing is compared instead of the server's.
    package var hasWeakDigest: Bool { digest != nil && !hasProof }

    /// Whether responses with a content coding are stored as sent.
    ///
    /// Many servers name the compression of a compressed file (`x.tar.gz`) as if they had added it. A digest shows in
    /// the end whether the bytes are those of the file.
    package func accepts(coding: String?) -> Bool {
        guard let coding, !storesCoded, !hasProof else { return true }
        let name = url?.lastPathComponent?.lowercased() ?? ""
        return Representation.knownCodings[coding]?.pieces(at: " ").contains { name.hasSuffix($0) } ?? false
    }

    /// Returns the number of bytes to compare before the missing ones, with the minimum that this policy requires.
    func overlap(for validator: Validator?) -> Int64 {
        let least = validator == nil && !hasProof ? Self.unvalidatedOverlap : 0
        return max(overlap, least)
    }
}
