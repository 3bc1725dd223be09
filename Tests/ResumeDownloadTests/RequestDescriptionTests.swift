import HTTPTypes
import ResumeDownload
import ResumeHTTP
import Testing

/// Requests end up in logs.
struct RequestDescriptionTests {
    @Test("A printed request shows no secret")
    func secrets() throws {
        var request = DownloadRequest(
            try DownloadURL("https://user:hidden@127.0.0.1/file?X-Amz-Signature=hidden"), to: "out\u{1B}[2J")
        request.headerFields[.authorization] = "Bearer hidden"
        let all = [
            "\(request)", String(reflecting: request), "\([request])", "\(String(describing: Optional(request)))",
        ]
        for text in all {
            #expect(!text.contains("hidden") && text.contains("127.0.0.1") && !text.contains("\u{1B}"))
        }
    }
}
