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
            // Other words for bytes that are not ASCII, as browsers read them.
            (#"attachment; filename="plain.txt"; filename*=iso-8859-1''na%EFve%20file.txt"#, "na\u{EF}ve file.txt"),
            (#"attachment; filename*=ISO-8859-1'en'%A3.txt"#, "\u{A3}.txt"),
            // The first word is missing; a single quote is part of the name.
            ("filename=a.txt", "a.txt"), (#"filename="a b.txt"; size=3"#, "a b.txt"),
            ("attachment; filename=it's.zip", "it's.zip"), (#"attachment; filename='a.zip'"#, "'a.zip'"),
            ("attachment; filename*=UTF-8''it's.zip", "it's.zip"),
            // Backslashes of Windows that are not quoted.
            (#"attachment; filename="C:\x\a.zip""#, "a.zip"),
            (#"attachment; filename="\\server\share\a.zip""#, "a.zip"),
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
            "attachment; filename=\"a\u{202E}txt.exe\"",
            "attachment; filename=--",
            "attachment; filename*=UTF-8''%E3%85%A4",
        ])
    func none(value: String) {
        #expect(name(value) == nil)
        #expect(Representation(fields: HTTPFields()).suggestedFilename == nil)
    }

    @Test("Bytes that are not UTF-8 are read as Latin-1")
    func latin1() {
        var fields = HTTPFields()
        let value = Array("attachment; filename=\"caf".utf8) + [0xE9] + Array(".txt\"".utf8)
        fields.append(HTTPField(name: .contentDisposition, lenientValue: value))
        #expect(Representation(fields: fields).suggestedFilename == "caf\u{E9}.txt")
    }

    @Test("A name that is too long is cut before its extension")
    func long() {
        let stem = String(repeating: "a", count: 300)
        #expect(name("attachment; filename=\(stem).tar") == "\(stem.prefix(251)).tar")
        #expect(name("attachment; filename*=UTF-8''\(String(repeating: "%C3%A9", count: 200)).zip")?.utf8.count == 254)
        #expect(FileName.fitting("a.iso", numbered: 1) == "a.1.iso")
        #expect(FileName.fitting(".a", numbered: 2) == ".a.2")
        #expect(FileName.fitting("\(stem.prefix(251)).tar", numbered: 12) == "\(stem.prefix(248)).12.tar")
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
