import ResumeHTTP
import Testing

/// What `parser-fuzzer` found, a plain case each.
@Suite(.timeLimit(.minutes(1)))
struct FuzzFindingTests {
    @Test(
        "Hours, minutes and seconds have two digits each, not eight characters together",
        arguments: [
            "Sun, 19 Nov 6685 006:27:0 GMT", "Sunday, 06-Nov-94 8:049:37 GMT", "Sun Nov  6 8:9:0037 1994",
            "Sun, 06 Nov 1994 0849:3:7 GMT",
        ])
    func clock(text: String) {
        expectNoDate(text)
    }

    private func expectNoDate(_ text: String) {
        #expect(HTTPDate(text) == nil)
    }
}
