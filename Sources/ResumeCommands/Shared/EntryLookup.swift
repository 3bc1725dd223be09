internal import ResumeHTTP
internal import ResumeStore

extension DownloadStore {
    /// Returns the entry that a user names by its key or a URL.
    func entry(named name: String, _ context: CommandContext) async throws -> Entry {
        if let entry = try await entry(key: name) { return entry }
        if let url = try? DownloadURL(name) {
            if let entry = try await entry(key: url.redacted) { return entry }
            // Entries with a custom key can also be named by their URL.
            if let entry = try await entries().last(where: { $0.url == url.redacted }) { return entry }
        }
        throw StoreError(
            .noEntry, "there is no entry \(context.shown(name))",
            advice: "Run 'resumectl list' to show all entries.")
    }
}
