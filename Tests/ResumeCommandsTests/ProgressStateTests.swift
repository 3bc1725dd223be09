@testable import ResumeCommands
import ResumeDownload
import ResumeHTTP
import Testing

/// What is drawn of a state in a terminal of a size; a pure function.
@Suite(.timeLimit(.minutes(20)))
struct ProgressStateTests {
    private static let start = ContinuousClock.now
    private static let names = [
        "a", "model-00001-of-00042.safetensors", "映画.mkv", "e\u{301}te\u{301}.txt", "\u{301}\u{302}", "👩🏽‍🚀.png",
        "क्षत्रिय.pdf", "한국어.zip", String(repeating: "長い名前", count: 40), String(repeating: "x", count: 255),
    ]

    /// Makes a state in which a number of downloads run, each in another phase.
    private static func state(running: Int, of count: Int, ended: Int = 0) -> ProgressState {
        var state = ProgressState(count: count, now: start)
        for number in 0..<ended {
            state.begin(Int64(number), named: "done")
            state.end(Int64(number), isFailure: number % 3 == 0)
        }
        let size: Int64 = 1 << 30
        for number in ended..<(ended + running) { state.begin(Int64(number), named: names[number % names.count]) }
        for second in 0...8 {
            for number in ended..<(ended + running) {
                let received = size / 100 * Int64(second * (number % 9 + 1))
                switch number % 8 {
                case 0: break
                case 1: state.take(.waiting, of: Int64(number))
                case 2: state.take(.progress(receivedBytes: received, totalBytes: nil), of: Int64(number))
                case 3: state.take(.retrying(reason: .restartRequested, after: .seconds(9)), of: Int64(number))
                case 4: state.take(.progress(receivedBytes: size, totalBytes: size), of: Int64(number))
                case 5: state.take(.started(totalBytes: 0), of: Int64(number))
                case 6: state.take(.progress(receivedBytes: .max / 2, totalBytes: .max), of: Int64(number))
                default: state.take(.progress(receivedBytes: received, totalBytes: size), of: Int64(number))
                }
            }
            state.tick(start + .seconds(second))
        }
        return state
    }

    @Test(
        "In every size of terminal, the lines fit, and as many downloads are shown as fit",
        arguments: [(0, 1, 0), (1, 1, 0), (0, 9, 2), (3, 3, 0), (16, 40, 7), (40, 1000, 500)])
    func sizes(running: Int, count: Int, ended: Int) {
        let state = Self.state(running: running, of: count, ended: ended)
        for width in Array(1...50) + [60, 79, 80, 119, 120, 300] {
            for height in [1, 2, 3, 4, 12, 50] {
                let lines = state.lines(in: Terminal.Size(width: width, height: height))
                let what = "\(running) of \(count), \(width) x \(height): \(lines)"
                #expect(lines.allSatisfy { Terminal.columns($0) < width && !$0.isEmpty }, "\(what)")
                let total = count > 1 ? 1 : 0
                let most = width > 1 && height > 1 ? min(running + total, height - 1) : 0
                #expect(lines.count == most, "\(what)")
            }
        }
    }

    /// Two files that arrive, one that waits, and seven that have not begun.
    private static let sample: ProgressState = {
        var state = ProgressState(count: 12, now: start)
        for number in 0..<5 {
            state.begin(Int64(number), named: ["a.iso", "model-00001-of-00042.bin", "映画.mkv", "d", "e"][number])
        }
        state.take(.started(totalBytes: 100 << 20), of: 0)
        state.take(.resumed(offset: 50 << 20, totalBytes: 1 << 30), of: 1)
        state.take(.waiting, of: 2)
        state.end(3, isFailure: false)
        state.end(4, isFailure: true)
        state.tick(start)
        state.take(.progress(receivedBytes: 40 << 20, totalBytes: 100 << 20), of: 0)
        state.take(.progress(receivedBytes: 90 << 20, totalBytes: 1 << 30), of: 1)
        state.tick(start + .seconds(4))
        return state
    }()

    private static let pictures: [Int: [String]] = [
        20: ["a.iso           40%", "model-0…042.bin  8%", "映画.mkv    waiting", "1/12, 1 failed"],
        50: [
            "a.iso                 40%  10.0 MiB/s     6s left", "model-000…00042.bin    8%  10.0 MiB/s  1m33s left",
            "映画.mkv             waiting for another…", "1 of 12 files, 1 failed  at least 1m33s left",
        ],
        36: [
            "a.iso               40%     6s left", "model-00…0042.bin    8%  1m33s left",
            "映画.mkv           waiting for…", "1/12, 1 failed  at least 1m33s left",
        ],
        80: [
            "a.iso                        40%  40.0 MiB of 100.0 MiB  10.0 MiB/s     6s left",
            "model-00001-of-00042.bin      8%    90.0 MiB of 1.0 GiB  10.0 MiB/s  1m33s left",
            "映画.mkv                    waiting for another download of it",
            "1 of 12 files, 1 failed  130.0 MiB  20.0 MiB/s  at least 1m33s left",
        ],
        200: [
            "a.iso                                     [###############-----------------------]   40%  "
                + "40.0 MiB of 100.0 MiB  10.0 MiB/s     6s left",
            "model-00001-of-00042.bin                  [###-----------------------------------]    8%  "
                + "  90.0 MiB of 1.0 GiB  10.0 MiB/s  1m33s left",
            "映画.mkv                                  waiting for another download of it",
            "1 of 12 files, 1 failed  130.0 MiB of at least 1.1 GiB  20.0 MiB/s  at least 1m33s left  7 waiting for a slot",
        ],
    ]

    @Test("Lines in terminals of several widths", arguments: [20, 36, 50, 80, 200])
    func picture(width: Int) {
        let lines = Self.sample.lines(in: Terminal.Size(width: width, height: 24))
        #expect(lines == Self.pictures[width], "\n\(lines.joined(separator: "\n"))")
    }

    @Test("What does not fit is summed up in one line, and files that wait for the disk come first")
    func summedUp() {
        var state = ProgressState(count: 6, now: Self.start)
        for number in 0..<6 as Range<Int64> {
            state.begin(number, named: "file\(number)")
            state.take(.started(totalBytes: 1024), of: number)
            if number < 3 { state.take(.progress(receivedBytes: 1024, totalBytes: 1024), of: number) }
        }
        func lines(_ height: Int) -> [String] { state.lines(in: Terminal.Size(width: 60, height: height)) }
        #expect(lines(6).dropLast().map { $0.prefix(5) } == ["file3", "file4", "file5", "and 3"])
        #expect(lines(6)[3] == "and 3 more, being saved to disk  3.0 KiB")
        #expect(lines(5)[2] == "and 4 more  3.0 KiB")
        #expect(lines(4)[1] == "and 5 more  3.0 KiB")
        #expect(lines(3).map { $0.prefix(5) } == ["and 6", "0 of "])
        #expect(lines(2).map { $0.prefix(5) } == ["0 of "])
        #expect(lines(8).count == 7)
    }

    @Test("The rate is that of the last five seconds, and bytes received earlier do not count")
    func rates() {
        var state = ProgressState(count: 1, now: Self.start)
        state.begin(0, named: "file")
        func line(_ received: Int64, after milliseconds: Int) -> String {
            state.take(.progress(receivedBytes: received << 10, totalBytes: 1000 << 10), of: 0)
            state.tick(Self.start + .milliseconds(milliseconds))
            return state.lines(in: Terminal.Size(width: 80, height: 24))[0].replacing(/\ +/, with: " ")
        }
        state.take(.resumed(offset: 100 << 10, totalBytes: 1000 << 10), of: 0)
        #expect(line(100, after: 0) == "file 10% 100.0 KiB of 1000.0 KiB")
        // No rate of less than a fifth of a second.
        #expect(line(101, after: 199) == "file 10% 101.0 KiB of 1000.0 KiB")
        #expect(line(300, after: 2000) == "file 30% 300.0 KiB of 1000.0 KiB 100.0 KiB/s 7s left")
        #expect(line(400, after: 12_000) == "file 40% 400.0 KiB of 1000.0 KiB 10.0 KiB/s 1m0s left")
        // A restart loses bytes, but has no negative rate.
        state.take(.restarted(reason: .restartRequested, totalBytes: 1000 << 10), of: 0)
        #expect(line(0, after: 13_000) == "file 0% 0 B of 1000.0 KiB 0 B/s")
    }

    @Test("What a download does is said in words")
    func phases() {
        var state = ProgressState(count: 1, now: Self.start)
        func lines(after event: DownloadEvent? = nil, at seconds: Int = 0) -> [String] {
            if let event { state.take(event, of: 0) }
            state.tick(Self.start + .seconds(seconds))
            return [80, 24].map { width in
                state.lines(in: Terminal.Size(width: width, height: 24))[0].replacing(/\ +/, with: " ")
            }
        }
        state.begin(0, named: "f")
        #expect(lines() == ["f connecting", "f starting"])
        #expect(lines(after: .waiting) == ["f waiting for another download of it", "f waiting"])
        #expect(lines(after: .started(totalBytes: nil)) == ["f 0 B", "f 0 B"])
        #expect(lines(after: .progress(receivedBytes: 2048, totalBytes: nil)) == ["f 2.0 KiB", "f 2.0 KiB"])
        let why = Reason.restartRequested
        let retrying = lines(after: .retrying(reason: why, after: .seconds(3.5)))
        #expect(retrying == ["f retrying in 3s: \(why.clause)", "f retrying"])
        #expect(lines(at: 4)[0] == "f retrying: \(why.clause)")
        #expect(
            lines(after: .progress(receivedBytes: 10, totalBytes: 10), at: 4) == ["f 100%, saving to disk", "f saving"])
    }

    @Test("In a narrow terminal, a file of unknown length is shown with its bytes")
    func narrowUnknown() {
        var state = ProgressState(count: 1, now: Self.start)
        state.begin(0, named: "f")
        state.take(.progress(receivedBytes: 2048, totalBytes: nil), of: 0)
        for width in [24, 36, 80] {
            let lines = state.lines(in: Terminal.Size(width: width, height: 24))
            #expect(lines.count == 1 && lines[0].hasSuffix(" 2.0 KiB"), "\(width): \(lines)")
        }
    }

    @Test("A total is shown once all lengths are known")
    func totals() {
        var state = ProgressState(count: 2, now: Self.start)
        func total() -> String? { state.lines(in: Terminal.Size(width: 100, height: 24)).last }
        #expect(total() == "0 of 2 files  0 B  2 waiting for a slot")
        for number in 0...1 as ClosedRange<Int64> { state.begin(number, named: "file") }
        state.take(.started(totalBytes: 1000), of: 0)
        #expect(total() == "0 of 2 files  0 B of at least 1000 B")
        state.take(.started(totalBytes: 1000), of: 1)
        state.take(.progress(receivedBytes: 500, totalBytes: 1000), of: 1)
        #expect(total() == "0 of 2 files  25%  500 B of 2.0 KiB")
        // It was compared with a file that is kept.
        state.end(1, isFailure: false)
        #expect(state.delivered == 0)
    }

    @Test("D9: the total does not end before its longest file")
    func longest() {
        var state = ProgressState(count: 2, now: Self.start)
        for number in 1...2 as ClosedRange<Int64> {
            state.begin(number, named: "file\(number)")
            state.take(.started(totalBytes: 150 << 20), of: number)
        }
        state.tick(Self.start)
        state.take(.progress(receivedBytes: 4 << 20, totalBytes: 150 << 20), of: 1)
        state.take(.progress(receivedBytes: 40 << 20, totalBytes: 150 << 20), of: 2)
        state.tick(Self.start + .seconds(4))
        let lines = state.lines(in: Terminal.Size(width: 80, height: 24))
        #expect(lines.map { $0.suffix(11) } == [" 2m26s left", "   11s left", " 2m26s left"], "\(lines)")
    }

    @Test("Retries are counted, and the first of each reason is told from the others")
    func retries() {
        var state = ProgressState(count: 1, now: Self.start)
        state.begin(1, named: "file")
        func retry(_ code: Reason.Code) -> ProgressState.Retries {
            state.take(.retrying(reason: Reason(code: code, text: "text"), after: .zero), of: 1)
        }
        let place = Reason.Code.noFurtherConnection
        let codes: [Reason.Code] = ["stalled", "stalled", place, place, "stalled", "busy"]
        let retries = codes.map(retry)
        #expect(retries.map(\.isSameReason) == [false, true, false, true, false, false])
        // A place that is not given is no retry.
        #expect(retries.map(\.count) == [1, 2, 2, 2, 3, 4])
        #expect(retries[0].text == ", after 1 retry" && retries[5].text == ", after 4 retries")
        #expect(state.take(.started(totalBytes: 1), of: 1).count == 4)
    }

    @Test("The number of failures is shown in narrow terminals, too")
    func failures() {
        var state = ProgressState(count: 3000, now: Self.start)
        for number in 0..<3 as Range<Int64> {
            state.begin(number, named: "file")
            state.end(number, isFailure: true)
        }
        state.begin(3, named: "file")
        state.take(.started(totalBytes: 1 << 40), of: 3)
        state.take(.progress(receivedBytes: 1 << 39, totalBytes: 1 << 40), of: 3)
        for width in [20, 30, 40, 80] {
            let last = state.lines(in: Terminal.Size(width: width, height: 24)).last
            #expect(last?.contains("3 failed") == true, "\(width): \(last ?? "none")")
        }
    }

    @Test("D7, D8: a download that receives nothing says for how long, and a log shows what is waited for")
    func silent() {
        let start = ContinuousClock.now
        var state = ProgressState(count: 1, stallTimeout: .seconds(30), now: start)
        state.begin(1, named: "file")
        state.tick(start)
        state.tick(start + .seconds(4))
        #expect(state.report == ["file: connecting"])
        state.tick(start + .seconds(12))
        #expect(state.report == ["file: no response for 12s, retry in 18s"])
        state.take(.started(totalBytes: 1000), of: 1)
        state.take(.progress(receivedBytes: 500, totalBytes: 1000), of: 1)
        state.tick(start + .seconds(13))
        #expect(state.report.first?.hasPrefix("file: 50%, 500 B of 1000 B") == true, "\(state.report)")
        state.tick(start + .seconds(33))
        #expect(state.report == ["file: no data for 20s, retry in 10s, 50%"])
    }

    @Test("With --json, the report is an event for each download that waits, which says until when")
    func events() throws {
        let start = ContinuousClock.now
        var state = ProgressState(count: 3, now: start)
        state.reportsEvents = true
        for number in 1...3 { state.begin(Int64(number), named: "https://host.test/\(number)") }
        state.take(.retrying(reason: .restartRequested, after: .seconds(90)), of: 1)
        state.take(.waiting, of: 2)
        state.tick(start + .seconds(30))
        let events = try state.report.map { try JSONText(parsing: $0) }
        #expect(events.map { $0["event"]?.string } == ["waiting", "waiting"])
        #expect(events.map { $0["url"]?.string } == ["https://host.test/1", "https://host.test/2"])
        #expect(events.first?["reason"]?.string == Reason.restartRequested.code.rawValue)
        #expect(events.first?["until"]?.string?.hasSuffix("Z") == true && events.last?["until"] == .null)
    }
}
