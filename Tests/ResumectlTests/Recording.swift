import Foundation
import TestSupport

/// What a terminal shows of one friction in `docs/frictions.md`, before or now.
///
/// In its block, a line `$ …` is a command and `> …` what happens while it runs. The lines behind are the screen.
struct Recording {
    struct Step {
        var isCommand: Bool
        var text: String
        var screen: [String] = []
    }

    enum Kind: String { case before = "Before", now = "Now" }

    /// The number of the friction.
    let number: Int
    let kind: Kind
    var steps: [Step] = []
    /// The lines of the page with the steps.
    private var lines: Range<Int>

    private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../docs/frictions.md").standardizedFileURL.path

    private static func page() throws -> [Substring] {
        String(decoding: try Files.bytes(path), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The recordings of the page, in order.
    static func all() throws -> [Recording] {
        var (recordings, number, isInBlock): ([Recording], Int, Bool) = ([], 0, false)
        for (index, line) in try page().enumerated() {
            if let title = line.prefixMatch(of: #/## (\d+)\./#) { number = Int(title.1) ?? 0 }
            if line.last == ":", let kind = Kind(rawValue: String(line.dropLast())) {
                recordings.append(Recording(number: number, kind: kind, lines: index..<index))
            }
            guard let last = recordings.indices.last else { continue }
            if line.hasPrefix("```") {
                if isInBlock { recordings[last].lines = recordings[last].lines.lowerBound..<index }
                isInBlock.toggle()
                if isInBlock { recordings[last].lines = index + 1..<index + 1 }
            } else if isInBlock, line.hasPrefix("$ ") || line.hasPrefix("> ") {
                recordings[last].steps.append(
                    Step(isCommand: line.hasPrefix("$"), text: String(line.dropFirst(2))))
            } else if isInBlock, let step = recordings[last].steps.indices.last {
                recordings[last].steps[step].screen.append(String(line))
            }
        }
        return recordings
    }

    /// Replaces the block in the page.
    func write() throws {
        var page = try Self.page().map { String($0) }
        guard let old = try Self.all().first(where: { $0.number == number && $0.kind == kind }) else { return }
        page.replaceSubrange(old.lines, with: steps.flatMap { [($0.isCommand ? "$ " : "> ") + $0.text] + $0.screen })
        try Files.write(Array(page.joined(separator: "\n").utf8), to: Self.path)
    }

    /// What must be equal: the words, whatever the width, the order of parallel downloads, the times and the rates.
    static func words(_ rows: [String]) -> [Substring] {
        rows.joined(separator: " ")
            .replacing(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/, with: "TIME")
            .replacing(/\d+(\.\d+)? (B|KiB|MiB|GiB)\/s/, with: "RATE")
            .replacing(/(\d+m)?\d+(\.\d+)? ?(ms|s)\b/, with: "TIME")
            .replacing(/blobs\/[0-9a-f\/]+/, with: "BLOB")
            .split(separator: " ").sorted()
    }
}
