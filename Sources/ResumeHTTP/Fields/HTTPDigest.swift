#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
package import HTTPTypes
import RawStructuredFieldValues

/// A digest, and the algorithm that computed it.
///
/// Source: [RFC 9530](https://www.rfc-editor.org/rfc/rfc9530.html).
public struct HTTPDigest: Sendable, Hashable {
    /// The supported algorithms.
    ///
    /// MD5 and SHA-1 are compared if a caller names them, as old lists do. They detect damage, but two files with the same
    /// digest can be made: so they prove nothing, and those of a server are ignored.
    @nonexhaustive
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// MD5, 16 bytes; proves nothing.
        case md5
        /// SHA-1, 20 bytes; proves nothing.
        case sha1 = "sha-1"
        /// SHA-256, 32 bytes.
        case sha256 = "sha-256"
        /// SHA-512, 64 bytes.
        case sha512 = "sha-512"

        /// The length of a digest in bytes.
        package var byteCount: Int {
            switch self {
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }

        /// Whether it is infeasible to make two files with the same digest.
        package var isProof: Bool { byteCount >= 32 }
    }

    package var isProof: Bool { algorithm.isProof }

    /// The algorithm.
    public let algorithm: Algorithm
    package let bytes: [UInt8]

    /// Creates a digest from its bytes.
    ///
    /// - Returns: nil if their number is not the algorithm's `byteCount`.
    package init?(_ algorithm: Algorithm, bytes: some Sequence<UInt8>) {
        self.algorithm = algorithm
        self.bytes = Array(bytes)
        guard self.bytes.count == algorithm.byteCount else { return nil }
    }

    /// The digest as a value of fields such as `Repr-Digest`.
    package var fieldValue: String { "\(algorithm.rawValue)=:\(Data(bytes).base64EncodedString()):" }

    /// Parses hexadecimal digits, as printed by `sha256sum`.
    ///
    /// - Throws: ``InvalidInput`` if their number is wrong for the algorithm, or if there are other characters.
    public init(_ algorithm: Algorithm, parsing text: String) throws(InvalidInput) {
        guard let digest = HTTPDigest(algorithm, hexadecimal: text) else {
            throw InvalidInput("not a digest; \(2 * algorithm.byteCount) hexadecimal digits are required")
        }
        self = digest
    }

    /// Parses hexadecimal digits.
    ///
    /// - Returns: nil if their number is wrong for the algorithm, or if there are other characters.
    package init?(_ algorithm: Algorithm, hexadecimal text: String) {
        guard text.utf8.count == 2 * algorithm.byteCount, let bytes = Hexadecimal.bytes(Array(text.utf8)[...]) else {
            return nil
        }
        self.init(algorithm, bytes: bytes)
    }

    /// The bytes as lower-case hexadecimal digits.
    public var hexadecimal: String { Hexadecimal.text(bytes) }
}

extension HTTPDigest {
    /// Parses a `Repr-Digest` or `Content-Digest` field; nil if it is absent, malformed, or has no supported algorithm.
    ///
    /// - Parameters:
    ///   - text: The value of the field.
    ///   - algorithm: The algorithm to use if the field has it; otherwise the strongest supported one is used.
    package init?(field text: String?, preferring algorithm: Algorithm? = nil) {
        let known = Self.known(in: text)
        guard let digest = algorithm.flatMap({ known[$0] }) ?? known[.sha512] ?? known[.sha256] else {
            return nil
        }
        self = digest
    }

    /// Parses the value of a field that this program has written, whatever the algorithm; nil if there is none.
    package init?(written text: String?) {
        guard let digest = Self.known(in: text).first?.value else { return nil }
        self = digest
    }

    /// Reads the `Content-Digest` field of a message, which is the digest of the bytes of its body.
    package init?(contentDigestIn fields: HTTPFields) {
        self.init(field: fields.text(.contentDigest))
    }

    /// Whether two fields have different digests of the same algorithm.
    static func contradict(_ old: String?, _ new: String?) -> Bool {
        let old = known(in: old)
        let new = known(in: new)
        return old.contains { algorithm, digest in
            algorithm.isProof && new[algorithm].map { $0 != digest } ?? false
        }
    }

    /// The maximum length of a digest field, in bytes; longer ones are ignored.
    static let longestField = 1024

    private static func known(in text: String?) -> [Algorithm: HTTPDigest] {
        // Two digests take less than 200 bytes; the parser takes quadratic time in the number of members.
        guard let text, text.utf8.count <= longestField else { return [:] }
        var parser = StructuredFieldValueParser(Array(text.utf8))
        guard let members = try? parser.parseDictionaryFieldValue() else { return [:] }
        var digests: [Algorithm: HTTPDigest] = [:]
        for (name, member) in members {
            guard let algorithm = Algorithm(rawValue: name), case .item(let item) = member,
                case .undecodedByteSequence(let text) = item.rfc9651BareItem
            else { continue }
            digests[algorithm] = Data(base64Encoded: text).flatMap { HTTPDigest(algorithm, bytes: $0) }
        }
        return digests
    }
}

extension HTTPField.Name {
    // Optional only because names created from text are.
    static let contentDigest = HTTPField.Name("Content-Digest")
    /// Requests a `Repr-Digest` (RFC 9530, 4).
    package static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")
}
