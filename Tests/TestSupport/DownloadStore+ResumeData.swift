package import ResumeHTTP
package import ResumeStore

extension DownloadStore {
    /// Returns the resume data of a download of a whole file, whether it is in use or not, and whoever asks for it.
    package func resumeData(for key: String, policy: ResumePolicy = ResumePolicy()) async throws -> ResumeData? {
        let entry = try await EntryReader(self).entry(named: DownloadURL.redactedKey(key), for: nil)
        return entry.flatMap { ResumeData(of: $0, policy: policy) }
    }
}
