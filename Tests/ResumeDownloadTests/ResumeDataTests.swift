import Foundation
@testable import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// Resume data as bytes, which may come from anywhere.
@Suite(.timeLimit(.minutes(5)))
struct ResumeDataTests {
    private static let text = """
        {"entityTag":"\\"a\\"","key":"k","ranges":"bytes=0-9","received":3,"total":10,\
        "url":"https://example.org/f","version":1}
        """

    private static func problem(_ text: String) -> InvalidInput? {
        do {
            _ = try ResumeData(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("Version 1 of the format is read, and written identically")
    func form() throws {
        let data = try ResumeData(Array(Self.text.utf8))
        #expect(data.key == "k" && data.receivedBytes == 3 && data.totalBytes == 10 && data.entityTag == "\"a\"")
        #expect(data.selection == RangeSelection("bytes=0-9"))
        #expect(String(decoding: data.bytes, as: UTF8.self) == Self.text)
        let coded = try JSONDecoder().decode([ResumeData].self, from: JSONEncoder().encode([data]))
        #expect(coded == [data], "as a part of something else")
        #expect(data.description == "3 of 10 bytes of https://example.org/f")
    }

    @Test("Data of a newer release is reported as such, whatever it looks like")
    func newer() {
        #expect(Self.problem(#"{"version":2,"something":[]}"#) == .newerResumeData(2))
    }

    @Test("Foreign and damaged bytes are an error, and nothing else")
    func foreign() throws {
        #expect(Self.problem(Self.text) == nil)
        let broken: [(String, String)] = [
            ("\"version\":1", "\"version\":0"), ("\"version\":1", "\"version\":1e99"),
            ("\"received\":3", "\"received\":-1"),
            ("\"received\":3", "\"received\":11"), ("\"received\":3", "\"received\":9223372036854775807"),
            ("\"total\":10", "\"total\":-1"), ("\"total\":10", "\"total\":9223372036854775807"),
            ("https:", "file:"), ("https://example.org/f", "/etc/passwd"), ("bytes=0-9", "bytes=9-0"),
            ("\\\"a\\\"", "no tag"), ("\\\"a\\\"", "a"), ("\\\"a\\\"", "W/\\\"a\\\""),
            ("\\\"a\\\"", "\\\"\\r\\nX: y\\\""), ("\"k\"", "\"\""), ("\"k\"", "1"),
        ]
        for (old, new) in broken {
            let text = Self.text.replacing(old, with: new)
            #expect(text != Self.text && Self.problem(text) == .notResumeData, "\(new)")
        }
        let bytes = Array(Self.text.utf8)
        for length in bytes.indices {
            #expect(throws: InvalidInput.notResumeData) { try ResumeData(Array(bytes[..<length])) }
        }
        for text in ["null", "[]", "{}", "\u{0}", String(repeating: "[", count: 200_000)] {
            #expect(Self.problem(text) == .notResumeData)
        }
        #expect(
            Self.problem(Self.text.replacing("/f", with: "/" + String(repeating: "f", count: 2 << 20)))
                == .notResumeData)
        var flipped = bytes
        for index in bytes.indices {
            flipped[index] ^= 0x15
            // Either an error, or a value that can be read again.
            if let data = try? ResumeData(flipped) { #expect(try ResumeData(data.bytes) == data) }
            flipped[index] = bytes[index]
        }
    }

    @Test("Secrets added by another program are not kept")
    func secrets() throws {
        let text = Self.text.replacing("example.org/f", with: "me:pass@example.org/f?sig=abc&x=1")
        let data = try ResumeData(Array(text.utf8))
        #expect(data.url.absoluteString == "https://example.org/f?x=1" && data.url.credentials == nil)
        #expect(!String(decoding: data.bytes, as: UTF8.self).contains("abc"))
    }

    @Test("The state machine of a task: its calls, the ends of its runs, and what they lead to")
    func phases() {
        typealias Phase = DownloadTask.Phase
        typealias Step = (Phase, (inout Phase) -> Phase.Action, Phase, Phase.Action)
        let steps: [Step] = [
            (.suspended, { $0.resume() }, .running, .begin),
            (.suspended, { $0.suspend() }, .suspended, .nothing),
            (.suspended, { $0.cancel() }, .finished, .finish),
            (.running, { $0.resume() }, .running, .nothing),
            (.running, { $0.suspend() }, .interrupted(.toSuspend), .interrupt),
            (.running, { $0.cancel() }, .interrupted(.toCancel), .interrupt),
            (.running, { $0.ended(isDelivered: true) }, .finished, .finish),
            (.running, { $0.ended(isDelivered: false) }, .finished, .finish),
            (.interrupted(.toSuspend), { $0.resume() }, .interrupted(.toResume), .nothing),
            (.interrupted(.toSuspend), { $0.cancel() }, .interrupted(.toCancel), .nothing),
            (.interrupted(.toSuspend), { $0.ended(isDelivered: false) }, .suspended, .nothing),
            (.interrupted(.toSuspend), { $0.ended(isDelivered: true) }, .finished, .finish),
            (.interrupted(.toResume), { $0.suspend() }, .interrupted(.toSuspend), .nothing),
            (.interrupted(.toResume), { $0.ended(isDelivered: false) }, .running, .begin),
            (.interrupted(.toResume), { $0.ended(isDelivered: true) }, .finished, .finish),
            (.interrupted(.toCancel), { $0.resume() }, .interrupted(.toCancel), .nothing),
            (.interrupted(.toCancel), { $0.suspend() }, .interrupted(.toCancel), .nothing),
            (.interrupted(.toCancel), { $0.ended(isDelivered: false) }, .finished, .finish),
            (.finished, { $0.resume() }, .finished, .nothing),
            (.finished, { $0.suspend() }, .finished, .nothing),
            (.finished, { $0.cancel() }, .finished, .nothing),
        ]
        for (before, call, after, action) in steps {
            var phase = before
            let done = call(&phase)
            #expect(phase == after && done == action, "\(before)")
        }
    }
}
