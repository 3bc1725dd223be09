import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeDownload
import ResumeHTTP
import TestSupport
import Testing

/// What terminals of four widths show: the files in `Recordings`, one for each width and command.
///
/// With `RECORD=Now`, the tests write the files instead of comparing.
@Suite(.timeLimit(.minutes(20)))
struct ScreenTests {
    private static let widths = [20, 50, 80, 120]

    /// Compares a text with its recording, and expects that no word in it is broken unless it is wider than the terminal.
    private static func compare(_ text: String, with name: String, _ width: Int) throws {
        for row in text.split(separator: "\n") {
            let words = row.split(separator: " ")
            // A command in quotes stays on one row, so that it can be copied.
            let isOne = words.count == 1 || row.contains("'")
            #expect(Terminal.columns(row) <= width || isOne, "\(name), \(width): \(row)")
        }
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Recordings/\(width)/\(name).txt").path
        if ProcessInfo.processInfo.environment["RECORD"] == "Now" { return try Files.write(Array(text.utf8), to: path) }
        let recorded = String(decoding: try Files.bytes(path), as: UTF8.self)
        #expect(text == recorded, "\(path) differs:\n\(text)")
    }

    /// Replaces what differs from run to run, without a change of the widths.
    private static func still(_ text: String) -> String {
        var text = text.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, with: "2026-11-30T12:00:00Z")
        text = text.replacing(/127\.0\.0\.1:\d{5}/, with: "127.0.0.1:48000")
        // The end of a port in a shortened URL.
        text = text.replacing(/…(\d{1,5})\//) { match in "…\("48000".suffix(match.1.count))/" }
        text = text.replacing(/\/tmp\/r[a-z]{3}\b/, with: "/home/you")
        return text.replacing(/blobs\/[0-9a-f]{2}\/[0-9a-f]{32}/, with: "blobs/00/" + String(repeating: "0", count: 32))
    }

    /// The commands, and what is recorded of each.
    private static let commands = [
        ["jobs"], ["jobs", "--all"], ["log"], ["log", "part"], ["list"], ["show", "part"], ["history"],
        ["purge", "--all", "--dry-run"], ["verify"],
    ]

    @Test("jobs, log, list, show, history, purge and verify show what is recorded")
    func results() async throws {
        let home = try Home.short()
        let sha256 = try #require(HTTPDigest(.sha256, of: Sample.content.bytes(in: Sample.content.all))).hexadecimal
        let url = try await home.leavePartial("model-00001-of-00042.part")
        await home.run("pin", url).expect(.success)
        try await home.leavePartial("a.bin", held: 100_000)
        let server = try await home.serve { request in
            if request.path == "/folder/missing.iso" { return .status("404 Not Found") }
            return .file(Sample.resource, for: request)
        }
        await home.run("get", server.url("/folder/missing.iso"), "-o", home["missing.iso"]).expect(.refused)
        await home.run("get", server.url("/image.iso"), "-o", home["image.iso"], "--sha256", sha256).expect(.success)
        // So that ages have the same width.
        try await home.sql("UPDATE download SET used_at = used_at - 307800000 + id * 3600000")
        for width in Self.widths {
            for command in Self.commands {
                let outcome = await home.run(command, outputWidth: width).expect(.success)
                let name = command.joined(separator: "-").replacing("---", with: "-")
                try Self.compare(Self.still(outcome.output), with: name, width)
            }
            let shown = await home.run("show", home["image.iso"], outputWidth: width).expect(.success)
            try Self.compare(Self.still(shown.output), with: "show-delivered", width)
        }
    }

    /// Sixteen downloads at a point in time, one of which is much slower than the others.
    private static func downloads() -> ProgressState {
        let start = ContinuousClock.now
        var state = ProgressState(count: 20, now: start)
        let size: Int64 = 100 << 20
        for number in 1...16 as ClosedRange<Int64> {
            state.begin(number, named: "model-\(number + 10)-of-26.safetensors")
            if number > 2 { state.take(.started(totalBytes: size), of: number) }
        }
        for second in 0...12 as ClosedRange<Int64> {
            state.tick(start + .seconds(second))
            for number in 4...14 as ClosedRange<Int64> {
                // The first one needs more than two minutes.
                let mebibytes: Int64 = 1 << 20
                let rate: Int64 = number == 4 ? 720_000 : (number % 4 + 2) * mebibytes
                let received: Int64 = rate * (second + 1)
                state.take(.progress(receivedBytes: received, totalBytes: size), of: number)
            }
        }
        state.take(.waiting, of: 2)
        state.take(.retrying(reason: Reason("timed-out"), after: .seconds(9)), of: 15)
        state.take(.progress(receivedBytes: size, totalBytes: size), of: 16)
        state.tick(start + .seconds(12))
        return state
    }

    @Test("Sixteen downloads show what is recorded", arguments: widths)
    func progress(width: Int) throws {
        let state = Self.downloads()
        var lines = state.lines(in: Terminal.Size(width: width, height: 24))
        #expect(lines.count == 17)
        lines.append(Terminal.wrapped(state.summary ?? "", to: width))
        try Self.compare(lines.joined(separator: "\n") + "\n", with: "downloads", width)
    }
}

extension Home {
    /// Makes one whose path is as long as `/home/you`, so that lines are as long as there.
    fileprivate static func short() throws -> Home {
        while true {
            let path = "/tmp/r" + String((0..<3).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement() ?? "a" })
            do {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                return Home(at: path)
            } catch CocoaError.fileWriteFileExists {
                continue
            }
        }
    }
}
