package import ResumeHTTP
import ResumeSQLite

/// The request that an entry's bytes were fetched with, as stored hashes.
struct Requester: Hashable {
    /// The hash of the whole request; nil if it is unknown.
    var code: [UInt8]?
    /// The hash of the fields that the server named in `Vary`; nil if there were none.
    var varied: [UInt8]?

    /// What the bytes came from; nil for bytes of an earlier release.
    var resource: Provenance?

    /// No request, so that all requests must be confirmed by the server.
    static let nobody = Requester(code: nil, varied: nil)

    /// The same bytes, which belong to no request until they have been compared.
    var ownerless: Requester { Requester(code: nil, varied: nil, resource: resource) }

    /// Whether it is exactly this request.
    func isSame(as identity: RequestIdentity?, key: HashKey) -> Bool {
        guard let code, let identity else { return false }
        return code == identity.code(key)
    }
}

extension RequestIdentity {
    /// Returns the hash of the fields that a server named in `Vary`; nil if there were none.
    func varied(_ vary: String?, _ key: HashKey) -> [UInt8]? {
        vary.flatMap { $0 == "*" ? nil : code(ofFieldsNamedIn: $0, key) }
    }
}

/// The name of a download in the store: its key, and the ranges of a selection.
package enum DownloadName {
    /// Returns the name of a download in the store.
    ///
    /// URLs have no fragment here, so no other download has this name.
    private static func name(_ key: String, _ selection: RangeSelection?) -> String {
        selection.map { "\(key)#\($0)" } ?? key
    }

    /// Returns the key that the caller specified.
    ///
    /// - Returns: The key; nil if the name is not one of this selection.
    package static func callersKey(_ key: String, _ selection: RangeSelection?) -> String? {
        let suffix = name("", selection)
        return key.hasSuffix(suffix) ? String(key.dropLast(suffix.count)) : nil
    }

    /// Returns the name of a download from the caller's key, or from the URL if there is none.
    package static func of(_ url: DownloadURL, named key: String?, selection: RangeSelection?) -> String {
        name(key.map { Variant.withoutNumber(DownloadURL.redactedKey($0)) } ?? url.redacted, selection)
    }
}

/// One of the stored representations of a download.
struct Variant {
    /// The row's ID; newer rows have larger ones.
    var id: Int64
    var number: Int
    /// The request it was fetched with.
    var requester: Requester
    /// The request fields that it depends on; see ``Representation/vary``.
    var vary: String?
    /// Whether it has bytes, or is complete without any.
    var hasBytes = true

    /// The maximum number of variants of a download.
    static let most = 4

    /// Converts a stored number; nil if it is not valid.
    static func number(_ stored: Int64) -> Int? {
        Int(exactly: stored).flatMap { (1...most).contains($0) ? $0 : nil }
    }

    /// Returns the key of a variant; URLs have no fragment here, so no other download has this key.
    static func key(_ name: String, _ number: Int) -> String {
        number > 1 ? "\(name)\(suffix(number))" : name
    }

    private static func suffix(_ number: Int) -> String { "#variant=\(number)" }

    /// ``name(_:_:)`` of a row of `download`, in SQL.
    static let nameInSQL = """
        CASE download.variant WHEN 1 THEN download.key
            ELSE substr(download.key, 1, length(download.key) - \(suffix(most).count)) END
        """

    /// The keys of all variants of the download of a row of `download`, in SQL.
    static let keysInSQL = (1...most).map { $0 > 1 ? "\(nameInSQL) || '\(suffix($0))'" : nameInSQL }
        .joined(separator: ", ")

    /// Removes the suffix of a variant from a caller's key, since the request determines the variant.
    static func withoutNumber(_ key: String) -> String {
        (2...most).map { name(key, $0) }.first { $0 != key } ?? key
    }

    /// Returns the name of the download that a variant's key belongs to, as in rows of queues.
    static func name(_ key: String, _ number: Int) -> String {
        number > 1 && key.hasSuffix(suffix(number)) ? String(key.dropLast(suffix(number).count)) : key
    }
}

extension [Variant] {
    /// Returns the number of the variant that the server is most likely to send for a request.
    ///
    /// It is the one fetched with the same request, or with the same values of the fields named in `Vary`, or the last
    /// used one. It is only a guess; the server's response decides.
    func best(for identity: RequestIdentity?, key: HashKey) -> Int? {
        // The newest one, whatever the clock said when it was used: older ones wait for its delivery.
        let same = filter { $0.requester.isSame(as: identity, key: key) }
            .max { ($0.hasBytes ? 1 : 0, $0.id) < ($1.hasBytes ? 1 : 0, $1.id) }
        let alike = first { variant in
            guard let varied = variant.requester.varied else { return false }
            return varied == identity?.varied(variant.vary, key)
        }
        return (same ?? alike ?? first)?.number
    }
}

/// The columns with the requests of entries.
extension Connection {
    /// Returns the key of the store's hashes; nil if it was lost.
    borrowing func identityKey() throws -> HashKey? {
        let key = try first("SELECT identity_key FROM store WHERE id = 1") { $0.blob(0) }
        return key.flatMap { $0.count == HashKey.size ? HashKey($0) : nil }
    }

    /// Creates a new key if it was lost; then the server must confirm again who may use the stored bytes.
    borrowing func renewIdentityKey() throws -> HashKey {
        if let key = try identityKey() { return key }
        let key = HashKey.random()
        _ = try run("UPDATE store SET identity_key = ? WHERE id = 1", key.bytes)
        return key
    }

    /// Whether a download has no row, at the price of one step in the index for each of two ranges of keys.
    borrowing func holdsNothing(of name: String) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM download WHERE key = ?)
                OR EXISTS (SELECT 1 FROM download WHERE key BETWEEN ? AND ?)
            """
        return try integer(sql, name, Variant.key(name, 2), Variant.key(name, Variant.most)) == 0
    }

    /// Returns the variants of a download, last used first.
    borrowing func variants(of name: String) throws -> [Variant] {
        try rows(
            """
            SELECT variant, requester, varied, vary, id, received > 0 OR state = 'complete' FROM download
            WHERE key = ? AND variant = 1 OR key = ? AND variant = 2 OR key = ? AND variant = 3
                OR key = ? AND variant = 4
            ORDER BY used_at DESC, id DESC
            """, name, Variant.key(name, 2), Variant.key(name, 3), Variant.key(name, 4)
        ) { row in
            row.integer(0).flatMap(Variant.number).map { number in
                Variant(
                    id: row.integer(4) ?? 0, number: number,
                    requester: Requester(code: row.blob(1), varied: row.blob(2)), vary: row.text(3),
                    hasBytes: row.integer(5) == 1)
            }
        }
    }

    /// Returns the variant of a download that a request is most likely to continue.
    borrowing func entry(named name: String, for identity: RequestIdentity? = nil, key: HashKey = .none) throws
        -> Entry?
    {
        try variants(of: name).best(for: identity, key: key).flatMap { try entry(key: Variant.key(name, $0)) }
    }

    /// Returns the digest that the bytes of an entry do not match.
    borrowing func refusedDigest(id: Int64) throws -> HTTPDigest? {
        HTTPDigest(written: try first("SELECT refused_digest FROM download WHERE id = ?", id) { $0.text(0) })
    }

    /// Returns another complete variant that does not match the digest either, and was fetched with the same request or
    /// is of the same representation.
    borrowing func refused(_ digest: HTTPDigest, of name: String, beside entry: Entry) throws -> Entry? {
        for variant in try variants(of: name) where variant.number != entry.variant {
            guard let other = try self.entry(key: Variant.key(name, variant.number)), other.held.hasAllBytes,
                try refusedDigest(id: other.id) == digest
            else { continue }
            let validator = other.representation?.validator
            if validator != nil, validator == entry.representation?.validator { return other }
            if other.requester.code != nil, other.requester.code == entry.requester.code { return other }
        }
        return nil
    }

    /// Removes other variants fetched with the same request, except those in use, and pinned ones beside one that is not.
    ///
    /// They are outdated after something newer was delivered.
    ///
    /// - Returns: The blobs, to be removed after the commit.
    borrowing func removeVariants(
        of name: String, beside newest: Entry, for requester: Requester, in folder: StoreFolder
    ) throws -> [BlobName] {
        var blobs: [BlobName] = []
        for variant in try variants(of: name) where variant.id != newest.id && variant.requester.code == requester.code
        {
            guard let entry = try entry(key: Variant.key(name, variant.number)) else { continue }
            blobs += try remove(entry, beside: newest, in: folder) ?? []
        }
        return blobs
    }

    /// Removes another variant, unless it is in use, or pinned beside one that is not.
    ///
    /// - Returns: The blobs, to be removed after the commit; nil if it stays.
    borrowing func remove(_ other: Entry, beside newest: Entry, in folder: StoreFolder) throws -> [BlobName]? {
        guard !other.isPinned || newest.isPinned, let lease = try Lease.take(other.id, in: folder) else {
            return nil
        }
        return try withExtendedLifetime(lease) { try remove(other) }
    }
}
