import ResumeCurl
import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// Pausing and resuming an S3 object (moto), as an embedding program does, with a presigned URL for each request.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct ObjectStoreTests {
    @Test("A checkpoint resumes with another presigned URL and If-Match: 206, or 412 and the new object whole")
    func checkpoint() async throws {
        for isReplaced in [false, true] {
            let statuses = try await Visit.with(.s3, serving: PublishedFile(bytes: Visit.bytes)) { visit in
                try await Self.goOn(visit, isReplaced: isReplaced)
            }
            #expect(statuses == (isReplaced ? [200, 412, 200] : [200, 206]))
        }
    }

    private static func goOn(_ visit: Visit, isReplaced: Bool) async throws {
        let store = try await DownloadStore.open(at: visit.folder["store"])
        let transport = CurlTransport(.init(connectTimeout: .seconds(5), threads: 1))
        let downloader = Downloader(store: store, transport: transport)
        var request = DownloadRequest(try DownloadURL(try visit.origin.url()), to: visit.output)
        request.rateLimit = 2 << 20
        let task = downloader.makeTask(request)
        task.resume()
        for await event in task.events {
            if case .progress(let received, _) = event, received >= Visit.part { break }
        }
        let checkpoint = try #require(await task.cancelByProducingResumeData())
        #expect(checkpoint.entityTag != nil && checkpoint.totalBytes == Int64(Visit.bytes.count))

        let bytes = isReplaced ? Visit.otherBytes : Visit.bytes
        if isReplaced { try await visit.origin.publish(PublishedFile(bytes: bytes)) }
        var rest = DownloadRequest(
            resuming: checkpoint, to: visit.output, at: try DownloadURL(try visit.origin.url()))
        rest.condition = .ifMatch
        let again = downloader.makeTask(rest)
        again.resume()
        let result = try await again.value
        #expect(result.reusedBytes == (isReplaced ? 0 : checkpoint.receivedBytes))
        #expect(try Files.matches(visit.output, bytes))
        await transport.shutdown()
        await store.close()
    }
}
