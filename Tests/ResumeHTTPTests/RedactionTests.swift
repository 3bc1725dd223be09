import ResumeHTTP
import Testing

/// Promise 8, T33, L04: signatures and credentials are neither stored nor shown.
@Suite(.timeLimit(.minutes(5)))
struct RedactionTests {
    private func redacted(_ query: String) throws -> String {
        String(try DownloadURL("https://u:secret@h/f?\(query)").redacted)
    }

    @Test(
        "L04: signatures of AWS, Google, Azure, CloudFront and OSS",
        arguments: [
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=s&X-Amz-Date=s&X-Amz-Expires=9&X-Amz-SignedHeaders=host"
                + "&X-Amz-Security-Token=s&X-Amz-Signature=s",
            "AWSAccessKeyId=s&Expires=9&Signature=s&x-amz-security-token=s", "Signature=s&AWSAccessKeyId=s&Expires=9",
            "X-Goog-Algorithm=s&X-Goog-Credential=s&X-Goog-Date=s&X-Goog-Expires=9&X-Goog-SignedHeaders=host"
                + "&X-Goog-Signature=s",
            "GoogleAccessId=s&Expires=9&Signature=s",
            "sv=2022-11-02&ss=b&srt=o&sp=r&st=s&se=s&spr=https&sip=s&sr=b&sig=s",
            "skoid=s&sktid=s&skt=s&ske=s&sks=b&skv=s&sv=s&sr=b&sp=r&se=s&sig=s",
            "Expires=9&Signature=s&Key-Pair-Id=s", "Policy=s&Signature=s&Key-Pair-Id=s",
            "OSSAccessKeyId=s&Expires=9&Signature=s&security-token=s",
            "x-oss-signature-version=s&x-oss-credential=s&x-oss-date=s&x-oss-expires=9&x-oss-signature=s"
                + "&x-oss-security-token=s",
            "token=s", "access_token=s", "TOKEN=s", "api_key=s&apikey=s", "password=s", "jwt=s", "private_token=s",
            "Signature",
            "sig=", "token=s=t=u",
        ])
    func signed(query: String) throws {
        #expect(try redacted(query) == "https://h/f")
        #expect(try redacted("a=1&\(query)&b=2") == "https://h/f?a=1&b=2")
    }

    @Test(
        "Parameters that select the file stay",
        arguments: [
            "a=1&b", "versionId=3", "response-content-disposition=x", "Expires=9", "Policy=x", "sv=1&sp=r&se=2",
            "tokens=1",
            "x=token", "%FFsig=1", "generation=7", "q=signature=s", "a&&b", "id=%26token%3D1", "partNumber=1", "",
            "amz=1",
        ])
    func kept(query: String) throws {
        #expect(try redacted(query) == "https://h/f?\(query)")
    }

    @Test("A URL that is printed, or is part of printed text, shows no secret")
    func printed() throws {
        let url = try DownloadURL("https://u:hunter2@h/f?token=topsecret")
        for text in ["\(url)", String(reflecting: url), "\([url])", "\(Optional(url) as Any)"] {
            #expect(!text.contains("hunter2") && !text.contains("topsecret"), "\(text)")
        }
    }

    @Test("H09, A18: user info and fragment are removed, with and without a query")
    func userInfo() throws {
        #expect(try DownloadURL("https://u:secret@h/f#token=s").redacted == "https://h/f")
        #expect(try DownloadURL("https://u:secret@h/f?a=1#token=s").redacted == "https://h/f?a=1")
        #expect(try DownloadURL("https://secret@h").redacted == "https://h/")
    }

    @Test("T32: a URL with a new signature names the same download")
    func signedAnew() throws {
        let first = try redacted("X-Amz-Date=1&X-Amz-Signature=a&versionId=3")
        let second = try redacted("versionId=3&X-Amz-Date=2&X-Amz-Signature=b")
        #expect(first == second)
        #expect(try redacted("versionId=4&X-Amz-Signature=b") != first)
    }

    @Test(
        "Redacting twice changes nothing",
        arguments: ["a=1&token=s", "sig=s&sv=1&a=2", "token=s", "?token=s", "&&"])
    func idempotent(query: String) throws {
        let once = try redacted(query)
        #expect(try DownloadURL(once).redacted == once)
    }

    @Test(
        "L04: a percent-encoded name is the same name to a server",
        arguments: ["%74oken=s", "X%2DAmz%2DSignature=s"])
    func encodedNames(query: String) throws {
        let shown = try redacted(query)
        #expect(shown == "https://h/f")
    }

    @Test("A parameter that selects the bytes is part of the key: Alibaba's image processing")
    func contentParameters() throws {
        let small = try redacted("x-oss-process=image/resize,w_100&x-oss-signature=s")
        let large = try redacted("x-oss-process=image/resize,w_900&x-oss-signature=s")
        #expect(small != large)
    }
}
