import HTTPTypes
import Testing

@testable import ResumeHTTP

/// Names that servers suggest, honest and not.
@Suite(.timeLimit(.minutes(5)))
struct SuggestedFilenameTests {
    @Test(
        "A name is parsed according to RFC 6266",
        arguments: [
            (#"attachment; filename="image.iso""#, "image.iso"),
            ("attachment; filename=image.iso", "image.iso"),
            (#"inline;FileName = "two words.txt" ; size=3"#, "two words.txt"),
            (#"attachment; filename="a \"b\".txt""#, "a \"b\".txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''%e2%82%ac%20rates.txt"#, "€ rates.txt"),
            (#"attachment; filename*=utf-8'en'a%3Bb.txt; filename=plain.txt"#, "a;b.txt"),
            // If one cannot be read, the other is used.
            (#"attachment; filename="plain.txt"; filename*=UTF-8''%ff.txt"#, "plain.txt"),
            (#"attachment; filename="plain.txt"; filename*=KOI8-R''%c1.txt"#, "plain.txt"),
            (#"attachment; filename="a;b.txt""#, "a;b.txt"),
            (#"attachment; filename="no end.txt"#, "no end.txt"),
            (#"attachment; filename="plain.txt"; filename*=UTF-8''a%2"#, "plain.txt"),
            (#"attachment; filename=good.txt; filename*=UTF-8''.."#, "good.txt"),
            // The first of two.
            (#"attachment; filename=a.txt; filename=b.txt"#, "a.txt"),
        ])
    func found(value: String, expected: String) {
        #expect(name(value) == expected)
    }

    @Test(
        "The result is a name in one folder and nothing more",
        arguments: [
            (#"attachment; filename="../../etc/passwd""#, "passwd"),
            (#"attachment; filename="C:\\Windows\\system.ini""#, "system.ini"),
            (#"attachment; filename="/absolute.txt""#, "absolute.txt"),
            (#"attachment; filename*=UTF-8''..%2F..%2Fnote.txt"#, "note.txt"),
            (#"attachment; filename=".bashrc""#, "bashrc"),
            ("attachment; filename=\" \t. .\u{A0}.\u{3000}.bashrc\u{2003} \"", "bashrc"),
            ("attachment; filename*=UTF-8''%E3%80%80.ssh", "ssh"),
            ("attachment; filename=-rf", "rf"),
            ("attachment; filename*=UTF-8''%E3%85%A4a%E2%A0%80", "a"),
            // A combining mark that joins the slash into one character.
            ("attachment; filename=\"a/\u{301}b\"", "\u{301}b"),
        ])
    func harmless(value: String, expected: String) {
        #expect(name(value) == expected)
    }

    @Test(
        "If nothing remains, there is no name",
        arguments: [
            "", ";", ";;;", "attachment", "attachment; filename", "attachment; filename=", "attachment; filename=\"\"",
            "attachment; filename=\"..\"", "attachment; filename=\"a/\"", "attachment; filename=\"a\\",
            "attachment; filename=. . .",
            "attachment; filename*=UTF-8''%00", "attachment; filename*=UTF-8''%1b%5b2J", "attachment; filename*=''",
            "attachment; filename=\"a\u{202E}txt.exe\"", "filename=a.txt",
            "attachment; filename=\(String(repeating: "a", count: 256))", "attachment; filename=--",
            "attachment; filename*=UTF-8''%E3%85%A4",
        ])
    func none(value: String) {
        #expect(name(value) == nil)
        #expect(Representation(fields: HTTPFields()).suggestedFilename == nil)
    }

    @Test("Two different fields give no name")
    func twoFields() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .contentDisposition, value: "attachment; filename=a.txt"))
        fields.append(HTTPField(name: .contentDisposition, value: "attachment; filename=b.txt"))
        #expect(Representation(fields: fields).suggestedFilename == nil)
    }

    @Test(
        "A planted row names nothing outside a folder either",
        arguments: ["../../x", "/etc/x", ".x", " . x"])
    func planted(text: String) {
        #expect(Representation(suggestedFilename: text).suggestedFilename == "x")
        #expect(Representation(suggestedFilename: "..").suggestedFilename == nil)
    }

    private func name(_ value: String) -> String? {
        Representation(fields: HTTPFields([HTTPField(name: .contentDisposition, value: value)])).suggestedFilename
    }
}
