import ResumeDownload
import ResumeHTTP
import ResumeStore

// What stands between the marks is in the README, word for word; a test compares the two.
// README
func pauseAndGoOn(_ request: DownloadRequest, with downloader: Downloader) async throws {
    let task = downloader.task(request)
    task.resume()
    for await event in task.events {
        if case .progress(let received, _) = event, received > 0 { break }
    }
    // suspend() and resume() pause it; this ends it, and what came is kept.
    guard let resumeData = await task.cancelProducingResumeData() else { return }
    let kept = resumeData.bytes

    // In this program or the next one, wherever the store lies by then:
    let rest = downloader.task(resuming: try ResumeData(kept), to: request.destination)
    rest.resume()
    print("\(try await rest.value.reusedBytes) of \(resumeData.totalBytes ?? 0) bytes were held before")
}
// README
