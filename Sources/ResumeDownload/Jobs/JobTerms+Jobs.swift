package import ResumeHTTP
package import ResumeStore

extension JobTerms {
    /// Returns the job to record for a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - position: Its place in the list.
    ///   - terms: ``text(for:_:)``, which takes longer than the rest and is the same for similar requests.
    /// - Returns: The job.
    /// - Throws: `StoreError` if the destination is not a file name.
    package static func job(for request: DownloadRequest, at position: Int64, terms: String?) throws -> JobTable.NewJob
    {
        JobTable.NewJob(
            key: request.storeKey, url: request.url.redacted, destination: try Destination(request.destination).path,
            terms: terms, position: position, isNamedByServer: request.usesServerFilename
        ) { [url = request.url, fields = request.identityFields] in RequestIdentity(url, fields) }
    }

    /// Returns what must be given again: the names of header fields, and ``url``.
    package static func needs(of job: Job) -> [String] { decoded(job.terms)?.needs ?? [] }

    /// Returns the request of a job without its secrets.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - url: Its URL with all secrets; nil for the recorded one.
    /// - Returns: The request; nil if it cannot be read.
    package static func request(for job: Job, at url: DownloadURL? = nil) -> DownloadRequest? {
        decoded(job.terms)?.request(for: job, at: url)
    }
}

extension JobTable {
    /// Records the job of a request, which replaces one with the same key and destination.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - position: Its place in the list of this run.
    /// - Throws: ``StoreError``
    package func record(_ request: DownloadRequest, as position: Int64) async throws {
        let job = try JobTerms.job(for: request, at: position, terms: JobTerms.text(for: request, identityKey))
        _ = try await enlist([job], as: Listing(renames: false, unfinished: []) { _, _ in false })
    }
}

extension DownloadRequest {
    /// Makes this request the run of a claimed job.
    ///
    /// If the file that it delivered is in place, the server is asked whether it has another one.
    ///
    /// - Parameters:
    ///   - job: The job, which is done as soon as its file is delivered.
    ///   - rest: What is left to do then, as the failure of the job; nil if nothing is.
    package mutating func fulfils(_ job: Job, leaving rest: Reason? = nil) {
        queuedRows.append(JobTable.QueuedRow(job, rest: rest))
        deliveredFile = job.isInPlace ? job.file : nil
    }
}
