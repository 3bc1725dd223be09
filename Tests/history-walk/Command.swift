import Foundation
import Histories
import TestSupport

/// Runs random histories of downloads, and reports what is wrong.
@main
enum Command {
    private static let usage = """
        usage: history-walk [--seed N] [--first N] [--count N] [--stride N] [--most N] [--verbose 1]

          --seed N      what the histories are made from (1)
          --first N     the number of the first history (0)
          --count N     up to which number after that (1000)
          --stride N    the distance of two numbers, for several processes (1)
          --most N      how many violations are printed (5)
          --verbose 1   print what happens in each history
          --month NAME  simulate a month of a way of use instead, and print its report as JSON
        """

    static func main() async {
        var walk = HistoryWalk()
        var most: UInt64 = 5
        var words = CommandLine.arguments.dropFirst().makeIterator()
        var month: Month.Use?
        while let option = words.next() {
            guard let word = words.next() else { return fail(usage, 64) }
            if option == "--month" {
                guard let use = Month.Use(rawValue: word) else { return fail(usage, 64) }
                month = use
                continue
            }
            guard let value = UInt64(word) else { return fail(usage, 64) }
            switch option {
            case "--seed": walk.seed = value
            case "--first": walk.first = Int(min(value, 1 << 40))
            case "--count": walk.count = Int(min(value, 1 << 40))
            case "--stride": walk.stride = Int(min(max(value, 1), 1 << 40))
            case "--most": most = value
            case "--verbose": walk.isVerbose = value != 0
            default: return fail(usage, 64)
            }
        }
        if walk.isVerbose { walk.say = { print($0) } }
        do {
            // Memory is faster than a disk, and a kill does not lose what was written.
            let memory = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : nil
            let folder = try TemporaryFolder(in: memory)
            defer { folder.remove() }
            if let month {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
                let report = try await Month.report(of: month, in: folder)
                return print(String(decoding: try encoder.encode(report), as: UTF8.self))
            }
            let report = try await walk.run(in: folder)
            if !walk.isVerbose { for text in report.violations.prefix(Int(min(most, 1 << 20))) { print(text + "\n") } }
            for (name, count) in report.statistics.sorted(by: { $0.value > $1.value }) { print("\(count)\t\(name)") }
            print("\(report.summary), seed \(walk.seed)")
            folder.remove()
            exit(report.violations.isEmpty ? 0 : 1)
        } catch {
            fail("history-walk: \(error)", 2)
        }
    }

    private static func fail(_ text: String, _ status: Int32) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
        exit(status)
    }
}
