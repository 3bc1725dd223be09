internal import ResumeHTTP
internal import ResumeSQLite

/// For whom an entry's bytes were fetched: hashes of a request, as they are stored.
struct Requester: Sendable, Hashable {
    /// The hash of the whole request; nil where it is not known.
    var code: [UInt8]?
    /// The hash of the fields that the server named in `Vary`; nil where it named none.
    var varied: [UInt8]?

    /// Hashes a request.
    ///
    /// - Parameters:
    ///   - identity: The request; nil where the caller did not tell.
    ///   - vary: ``Representation/vary``.
    ///   - key: The store's.
    init(_ identity: RequestIdentity?, vary: String?, key: [UInt8]) {
        code = identity?.code(key)
        varied = vary.flatMap { $0 == "*" ? nil : identity?.code(ofFieldsNamedIn: $0, key) }
    }

    init(code: [UInt8]?, varied: [UInt8]?) {
        self.code = code
        self.varied = varied
    }

    /// Whoever asks is sent to the server first.
    static let nobody = Requester(code: nil, varied: nil)

    /// Whether it is the very request.
    func isSame(as identity: RequestIdentity?, key: [UInt8]) -> Bool {
        guard let code, let identity else { return false }
        return code == identity.code(key)
    }
}

/// One of the representations that are held of one download.
struct Variant: Sendable {
    /// Its number; 1 for the first.
    var number: Int
    /// For whom it was fetched.
    var requester: Requester
    /// The request fields that it depends on: ``Representation/vary``.
    var vary: String?

    /// How many there may be of one download.
    static let most = 4

    /// A number as it is stored; nil where there can be no such variant.
    static func number(_ stored: Int64) -> Int? {
        Int(exactly: stored).flatMap { (1...most).contains($0) ? $0 : nil }
    }

    /// What names one in the store: a URL has no fragment here, so that no other download has this key.
    static func key(_ name: String, _ number: Int) -> String {
        number > 1 ? "\(name)\(suffix(number))" : name
    }

    private static func suffix(_ number: Int) -> String { "#variant=\(number)" }

    /// ``name(_:_:)`` of a row of `download`, in SQL.
    static let nameInSQL =
        "CASE variant WHEN 1 THEN download.key ELSE substr(download.key, 1, length(download.key) - \(suffix(most).count)) END"

    /// A caller's own key without what would name a variant: which one it is, the request decides.
    static func withoutNumber(_ key: String) -> String {
        (2...most).map(suffix).first { key.hasSuffix($0) }.map { String(key.dropLast($0.count)) } ?? key
    }

    /// What names the download of which a key names a variant, which is what a queue's rows have.
    static func name(_ key: String, _ number: Int) -> String {
        number > 1 && key.hasSuffix(suffix(number)) ? String(key.dropLast(suffix(number).count)) : key
    }
}

extension [Variant] {
    /// The one that a request is most likely to be answered with: what was fetched with the same request, else with the
    /// same values of the fields that the server named in `Vary`, else what was used last.
    ///
    /// It is only where to begin: the server's answer decides.
    func best(for identity: RequestIdentity?, key: [UInt8]) -> Int? {
        let same = first { $0.requester.isSame(as: identity, key: key) }
        let alike = first { variant in
            guard let varied = variant.requester.varied else { return false }
            return varied == Requester(identity, vary: variant.vary, key: key).varied
        }
        return (same ?? alike ?? first)?.number
    }
}

/// The columns that tell whose an entry's bytes are.
extension Connection {
    /// The key of the store's hashes.
    ///
    /// - Returns: nil if it has been lost.
    borrowing func identityKey() throws -> [UInt8]? {
        let key = try first("SELECT identity_key FROM store WHERE id = 1") { $0.blob(0) }.flatMap { $0 }
        return key?.count == RequestIdentity.keySize ? key : nil
    }

    /// Makes a new key if it has been lost: then the server is asked again who may have what is held.
    borrowing func renewIdentityKey() throws -> [UInt8] {
        if let key = try identityKey() { return key }
        let key = RequestIdentity.newKey()
        _ = try run("UPDATE store SET identity_key = ? WHERE id = 1", .blob(key))
        return key
    }

    /// What is held of a download, last used first.
    borrowing func variants(of name: String) throws -> [Variant] {
        try rows(
            """
            SELECT variant, requester, varied, vary FROM download
            WHERE key = ? AND variant = 1 OR key = ? AND variant = 2 OR key = ? AND variant = 3
                OR key = ? AND variant = 4
            ORDER BY used_at DESC, id DESC
            """, .text(name), .text(Variant.key(name, 2)), .text(Variant.key(name, 3)), .text(Variant.key(name, 4))
        ) { row in
            row.integer(0).flatMap { Variant.number($0) }.map { number in
                Variant(
                    number: number, requester: Requester(code: row.blob(1), varied: row.blob(2)), vary: row.text(3))
            }
        }.compactMap { $0 }
    }

    /// What is held of a download that a request is most likely to go on with.
    borrowing func entry(
        named name: String, for identity: RequestIdentity? = nil, key: [UInt8] = []
    ) throws -> Entry? {
        try variants(of: name).best(for: identity, key: key).flatMap { try entry(key: Variant.key(name, $0)) }
    }

    /// Remembers that the bytes of an entry do not have a digest that was asked for.
    borrowing func refuse(_ digest: HTTPDigest, id: Int64, generation: Int64) throws {
        try run(
            "UPDATE download SET refused_digest = ? WHERE id = ? AND generation = ?", .text(digest.fieldValue),
            .integer(id), .integer(generation))
    }

    /// The digest that the bytes of an entry were found not to have.
    borrowing func refusedDigest(id: Int64) throws -> HTTPDigest? {
        let text = try first("SELECT refused_digest FROM download WHERE id = ?", .integer(id)) { $0.text(0) }
        return HTTPDigest(field: text.flatMap { $0 })
    }

    /// Whether the same is held of a download beside an entry, complete, and does not have a digest either: for the same
    /// request, or of the same representation.
    borrowing func hasRefused(_ digest: HTTPDigest, of name: String, beside entry: Entry) throws -> Bool {
        for variant in try variants(of: name) where variant.number != entry.variant {
            guard let other = try self.entry(key: Variant.key(name, variant.number)), other.held.hasAllBytes,
                try refusedDigest(id: other.id) == digest
            else { continue }
            let validator = other.representation?.validator
            if validator != nil, validator == entry.representation?.validator { return true }
            if other.requester.code != nil, other.requester.code == entry.requester.code { return true }
        }
        return false
    }

    /// Removes what else is held of a download for the same request, unless somebody works on it: once something newer was
    /// delivered, nobody is to be given it.
    ///
    /// - Returns: The blobs, to be removed after the commit.
    borrowing func removeVariants(
        of name: String, beside id: Int64, for requester: Requester, in folder: StoreFolder
    ) throws -> [BlobName] {
        var blobs: [BlobName] = []
        for variant in try variants(of: name) where variant.requester.code == requester.code {
            guard let entry = try entry(key: Variant.key(name, variant.number)), !entry.isPinned, entry.id != id,
                let lease = try Lease.take(entry.id, in: folder)
            else { continue }
            blobs += try withExtendedLifetime(lease) { try remove(entry) }
        }
        return blobs
    }

    /// Takes note of whom the server has confirmed what is held to.
    borrowing func setRequester(id: Int64, generation: Int64, _ requester: Requester, url: String) throws {
        try run(
            "UPDATE download SET requester = ?, varied = ?, url = ? WHERE id = ? AND generation = ?",
            .optional(requester.code), .optional(requester.varied), .text(url), .integer(id), .integer(generation))
    }
}
