import ResumeStore

/// Files that exist at the destination and are kept.
extension Downloader {
    /// The queue whose rows remember the validators of delivered files, as jobs that are done.
    private static let queueName = "revalidation"

    /// Runs a download, for ``DownloadRequest/IfExists/revalidate`` with the conditions of the delivered file that is in
    /// place, if there is one.
    func revalidating(
        _ request: DownloadRequest, _ download: (DownloadRequest) async throws -> DownloadResult
    ) async throws -> DownloadResult {
        guard request.ifExists == .revalidate else { return try await download(request) }
        let table = try await store.jobTable(named: Self.queueName)
        var listing = JobTable.Listing(renames: false, unfinished: []) { JobTerms.isAnswered($0.terms, by: $1.terms) }
        listing.isDone = true
        // Only what the file is compared by: header fields may contain secrets.
        var terms = DownloadRequest(request.url, to: request.destination)
        terms.digest = request.digest
        terms.acceptEncoding = request.acceptEncoding
        let job = try JobTerms.job(for: request, at: 0, terms: JobTerms.text(for: terms, table.identityKey))
        guard case .due(let id, _) = try await table.enlist([job], as: listing).first,
            case .taken(let known) = try await table.claim([id], again: true).first
        else {
            // Another task or process downloads the file.
            return try await download(request)
        }
        defer { table.release(id) }
        var request = request
        request.fulfils(known)
        let result = try await download(request)
        try? await table.pruneSometimes()
        return result
    }

    /// Reports that a file is kept, and returns the result.
    static func keep(
        _ path: String, _ reason: DownloadResult.Kept, _ onEvent: (DownloadEvent) -> Void
    ) -> DownloadResult {
        var result = DownloadResult(path: path, totalBytes: (try? Destination(path))?.existingBytes ?? 0)
        result.isLengthVerified = false
        result.isProved = false
        result.isExisting = true
        result.kept = reason
        onEvent(.finished(result))
        return result
    }
}
