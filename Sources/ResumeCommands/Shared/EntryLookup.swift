import ResumeHTTP
import ResumeStore

extension DownloadStore {
    /// Returns the entry that a user names by its key, a URL, its destination or a part of these.
    ///
    /// - Throws: ``CommandFailure`` with the candidates if a part belongs to several entries.
    func entry(matching text: String, _ context: CommandContext) async throws -> Entry {
        if let entry = try await entry(for: text) { return entry }
        if let url = try? TypedURL.parse(text) {
            if let entry = try await entry(for: url.redacted) { return entry }
            // Entries with a custom key can also be named by their URL.
            if let entry = try await EntryReader(self).entries(where: .url, is: url.redacted).first { return entry }
        }
        var missing = StoreError(.noEntry, Reason("no-entry", with: context.shown(text), Hint.run("list")))
        guard !text.isEmpty else { throw missing }
        if let path = try? Destination(text).path {
            let delivered = try await EntryReader(self).entries(where: .destination, is: path)
            if !delivered.isEmpty { return try Self.only(of: delivered, delivered.count, text, context) }
        }
        guard Self.isPart(text) else {
            missing.message += ", and a part of a name must have three letters"
            throw missing
        }
        var parts = try await EntryReader(self).entries(containing: text, limit: Self.mostShown)
        if parts.count == 0, let encoded = Self.encoded(text) {
            parts = try await EntryReader(self).entries(containing: encoded, limit: Self.mostShown)
        }
        guard parts.count > 0 else { throw missing }
        return try Self.only(of: parts.first, parts.count, text, context)
    }

    /// Whether a text may be a part of a name: at least three letters, or one ideograph, which has three bytes.
    ///
    /// A shorter text is a mistyped key.
    static func isPart(_ text: String) -> Bool { text.utf8.count >= 3 }

    /// Returns a text as it appears in URLs; nil if it is the same there.
    private static func encoded(_ text: String) -> String? {
        guard let url = try? TypedURL.parse("http://host/\(text)") else { return nil }
        let encoded = String(url.requestTarget.dropFirst())
        return encoded == text ? nil : encoded
    }

    /// The number of candidates in a message.
    private static let mostShown = 20

    private static func only(
        of entries: [Entry], _ count: Int, _ text: String, _ context: CommandContext
    ) throws -> Entry {
        if let entry = entries.first, count == 1 { return entry }
        var failure = CommandFailure(.notFound, sentence("entries-match", count, context.shown(text)))
        failure.details = entries.prefix(mostShown).map { Redaction.key($0.key) }
        if count > mostShown { failure.details.append("and \(count - mostShown) more") }
        throw failure
    }
}
