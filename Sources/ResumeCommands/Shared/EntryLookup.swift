internal import ResumeHTTP
internal import ResumeStore

extension DownloadStore {
    /// Returns the entry that a user names by its key or a URL.
    func entry(named name: String, _ context: CommandContext) async throws -> Entry {
        if let entry = try await entry(key: name) { return entry }
        if let url = try? TypedURL.parse(name) {
            if let entry = try await entry(key: url.redacted) { return entry }
            // Entries with a custom key can also be named by their URL.
            if let entry = try await entries().last(where: { $0.url == url.redacted }) { return entry }
        }
        throw StoreError(
            .noEntry, "there is no entry \(context.shown(name))",
            advice: "Run 'resumectl list' to show all entries.")
    }
}

extension DownloadStore {
    /// Returns the entry that a user names by its key, a URL, its destination or a part of these.
    ///
    /// - Throws: ``CommandFailure`` with the candidates if a part belongs to several entries.
    func entry(matching text: String, _ context: CommandContext) async throws -> Entry {
        let missing: StoreError
        do {
            return try await entry(named: text, context)
        } catch let error as StoreError where error.code == .noEntry {
            missing = error
        }
        guard !text.isEmpty else { throw missing }
        let entries = try await entries()
        if let path = try? Destination(text).path {
            let delivered = entries.filter { $0.destination == path }
            if !delivered.isEmpty { return try Self.only(of: delivered, text, context) }
        }
        // A URL without a scheme, or with other secrets than the stored one, is compared as it is stored.
        let url = (try? TypedURL.parse(text))?.redacted ?? text
        let exact = entries.filter { $0.url == url || $0.key == url }
        if !exact.isEmpty { return try Self.only(of: exact, text, context) }
        // A shorter text is a mistyped key rather than a part of a name.
        guard text.count >= 3 else { throw missing }
        let parts = entries.filter { entry in
            [entry.key, entry.url, entry.destination].contains { $0?.contains(text) == true }
        }
        guard !parts.isEmpty else { throw missing }
        return try Self.only(of: parts, text, context)
    }

    private static func only(of entries: [Entry], _ text: String, _ context: CommandContext) throws -> Entry {
        if let entry = entries.first, entries.count == 1 { return entry }
        let most = 20
        var failure = CommandFailure(
            .notFound, "\(entries.count) entries match \(context.shown(text)); name one of them:")
        failure.details = entries.prefix(most).map { Redaction.key($0.key) }
        if entries.count > most { failure.details.append("and \(entries.count - most) more") }
        throw failure
    }
}
