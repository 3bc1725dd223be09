import Foundation
import Resume

// The code between the marks is shown in the documentation. DocumentationTests compare the two.

func downloadInClosure(_ url: URL) async throws {
    // SNIPPET
    let file = try await withDownloader(storingIn: "/var/cache/example") { try await $0.download(url, to: "image.iso") }
    print("\(file.path): \(file.totalBytes) bytes, \(file.reusedBytes) of them from an earlier run")
    // END
}

func downloadOnce() async throws {
    // SNIPPET
    let store = try await DownloadStore.open(at: "/var/cache/example")
    let transport = CurlTransport()
    let downloader = Downloader(store: store, transport: transport)

    let request = DownloadRequest(try DownloadURL("https://example.org/image.iso"), to: "image.iso")
    let result = try await downloader.download(request)

    await transport.shutdown()
    await store.close()
    // END
    print(result)
}

func show(_ request: DownloadRequest, by downloader: Downloader) async throws -> Progress {
    // SNIPPET
    let progress = Progress(totalUnitCount: -1)
    let file = try await downloader.download(request, reportingTo: progress)
    // END
    print(file)
    return progress
}

func watch(_ request: DownloadRequest, by downloader: Downloader) async throws {
    // SNIPPET
    for try await event in downloader.events(request) {
        switch event {
        case .started(let total): print("started: \(total.map { "\($0) bytes" } ?? "unknown length")")
        case .resumed(let offset, _): print("resumed at byte \(offset)")
        case .restarted(let reason, _): print("restarted: \(reason)")
        case .damaged(let reason), .resumeDataOutdated(let reason): print(reason)
        case .retrying(let reason, let delay): print("\(reason); retrying in \(delay)")
        case .progress(let received, _): print("received \(received) bytes")
        case .waiting: print("waiting for another download of the same resource")
        case .finished(let result): print("done: \(result.path)")
        @unknown default: break
        }
    }
    // END
}

// SNIPPET
func pauseAndResume(_ request: DownloadRequest, with downloader: Downloader) async throws {
    let task = downloader.makeTask(request)
    task.resume()
    for await event in task.events {
        if case .progress(let received, _) = event, received > 0 { break }
    }
    guard let resumeData = await task.cancelByProducingResumeData() else { return }
    let saved = resumeData.bytes

    // Later, in this process or another one:
    let rest = downloader.makeTask(DownloadRequest(resuming: try ResumeData(saved), to: request.destination))
    rest.resume()
    print("\(try await rest.value.reusedBytes) of \(resumeData.totalBytes ?? 0) bytes were not fetched again")
}
// END

func handleFailures(of request: DownloadRequest, by downloader: Downloader) async throws {
    // SNIPPET
    do {
        _ = try await downloader.download(request)
    } catch let error as DownloadError where error.isResumable {
        print("try again later: \(error)")  // the partial data is kept
    } catch let error as DownloadError {
        print("failed: \(error.reason.code.rawValue), status \(error.status ?? 0)")
    } catch let error as StoreError {
        print("the store failed: \(error)")  // what happened, and what to do about it
    }
    // END
}

func requestWithTerms(_ url: DownloadURL, token: String) throws -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(url, to: "model.bin")
    request.headerFields[.authorization] = "Bearer \(token)"
    request.digest = try HTTPDigest(.sha256, parsing: String(repeating: "0", count: 64))
    request.retryPolicy.retries = 10
    request.stallTimeout = .seconds(15)
    request.maximumLength = 20 << 30
    // END
    return request
}
