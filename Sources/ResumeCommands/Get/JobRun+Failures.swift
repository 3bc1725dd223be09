import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// How jobs fail.
extension JobRun {
    /// Reports a job that does not run: a later command downloads another file to its path, or it was refused
    /// permanently before a byte of it was received, and is not named.
    func leaveOut(_ why: String) {
        reporter.note(why)
        reporter.expect(-1)
    }

    /// Reports a job that is not fetched again unless it is named, since it has the wrong digest.
    func refuseWrong(_ job: Job) {
        let reason = Reason("not-fetched-again", with: job.failure?.text ?? "", job.waysOn)
        fail(job, because: CommandFailure(.refused, reason.text, isResumable: true, reason: job.failure?.code))
    }

    /// Reports a job that was cancelled since it was chosen, or forgotten, or whose row was damaged: then nothing is
    /// known of it.
    func miss(_ job: Job?) {
        let failure = CommandFailure(.tryAgain, sentence("job-gone"))
        if let job { fail(job, because: failure) } else { reject(failure) }
    }

    /// Reports and records the failure of a job that does not run.
    func fail(_ job: Job, because error: any Error) {
        let failure = CommandFailure(error)
        guard let url = try? DownloadURL(job.url) else { return reject(failure) }
        reporter.report(failure, failure, of: DownloadRequest(url, to: job.destination), job.id)
        failed(with: failure.status)
    }

    /// Reports and records the failure of a download that has no job.
    func reject(_ failure: CommandFailure) {
        reporter.rejected(failure)
        failed(with: failure.status)
    }

    /// Records a failure that was reported.
    func failed(with status: ExitStatus) { failures.withLock { $0.statuses.append(status) } }

    /// Records how a run of a job failed.
    func record(_ failure: CommandFailure, _ error: any Error, of job: Job) async {
        // An interrupted job is continued by the next run.
        guard !(error is CancellationError) else { return }
        let code = (error as? StoreError).map { Reason($0).code } ?? .failed
        let own = (error as? DownloadError)?.reason ?? Reason(code, failure.message)
        // A program that is left to run stays so.
        let reason = job.leftCompletion.map { Reason(code: $0.code, text: own.text) } ?? own
        let isForGood = failure.status == .refused || failure.status == .cannotCreate
        // If this cannot be recorded, the job is tried again.
        try? await table.set([job.id], to: isForGood ? .failed : .waiting, because: reason, isRun: true)
    }

    /// Returns why a job is tried once more after all others; nil if it is not.
    func postpones(_ request: DownloadRequest, _ id: Int64, after error: any Error) -> Reason? {
        guard reporter.hasSeveral else { return nil }
        if let error = error as? StoreError, error.code == .overLimit {
            let isAdded = postponed.withLock { $0.add(id, needsRoom: true) }
            return isAdded ? Reason(error) : nil
        }
        let now = StoreClock.awake.now()
        let isClosed = [request.url.origin, request.url.redacted].contains { place in
            downloader.origins.with(place) { $0.isClosed(at: now, beyond: request.retryPolicy.time) }
        }
        guard let error = error as? DownloadError, error.code == .unreachable, request.retryPolicy.retries > 0,
            !isClosed, postponed.withLock({ $0.add(id, needsRoom: false) })
        else { return nil }
        return error.reason
    }

    /// Runs --on-complete for a file that is done; if it fails, the job is not.
    func complete(_ path: String, of request: DownloadRequest, _ id: Int64) async -> ExitStatus? {
        if programs.rest != nil {
            // A small file has given up its place for its delivery, and as many programs run as downloads.
            await request.onPause?(false)
        }
        do {
            if try await programs.complete(path, of: request) { try await table.set([id], to: .done) }
            return nil
        } catch {
            let failure = CommandFailure(error)
            let reason = Reason(code: Programs.completionFailed, text: failure.message)
            // If this cannot be recorded, the job is done.
            try? await table.set([id], to: .failed, because: reason)
            reporter.report(failure, error, of: request, id)
            return failure.status
        }
    }
}
