import HTTPTypes
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// The format of resume data, and how it is read.
@Suite(.timeLimit(.minutes(5)))
struct ResumeDataFormTests {
    @Test("A date validator and an unknown length are read, described and written again")
    func date() throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let text = #"{"lastModified":"\#(date)","received":10,"url":"http://127.0.0.1/a","version":1}"#
        let data = try ResumeData(Array(text.utf8))
        #expect(data.validator == .lastModified(date) && data.entityTag == nil)
        #expect(data.totalBytes == nil)
        #expect(data.description == "10 of unknown bytes of http://127.0.0.1/a")
        #expect(String(decoding: data.bytes, as: UTF8.self) == text)
    }

    @Test("Data of a newer release is rejected with its version; other data is malformed")
    func newer() {
        let newer = #expect(throws: InvalidInput.self) { try ResumeData(Array(#"{"version":7}"#.utf8)) }
        #expect(newer == .newerResumeData(7) && newer?.description.contains("newer version 7") == true)
        let other = #expect(throws: InvalidInput.self) { try ResumeData(Array("{}".utf8)) }
        #expect(other == .notResumeData && other?.description.contains("start the download again") == true)
    }

    @Test("For coded bytes, resume data exists only for callers that store coded bytes")
    func coded() async throws {
        try await DownloadStore.with { store, _ in
            let url = try DownloadURL(TransferTests.url)
            let policy = ResumePolicy(storesCoded: true)
            let transfer = try await store.open(url, headerFields: [:], policy: policy)
            try await transfer.receive([.eTag: "\"v1\"", .contentEncoding: "gzip", .contentLength: "20000"])
            try await transfer.write(sampleBytes(10_000))
            _ = try await transfer.endBody(.cut)
            #expect(await transfer.resumeData?.receivedBytes == 10_000)
            try await transfer.close()
            #expect(try await store.resumeData(for: TransferTests.url) == nil)
            #expect(try await store.resumeData(for: TransferTests.url, policy: policy)?.receivedBytes == 10_000)
        }
    }
}
