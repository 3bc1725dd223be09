import Foundation
import StoreFuzz
import TestSupport

/// Plants stores for any duration, and runs every command and the library on each.
@main
enum Command {
    private static let usage = """
        usage: store-fuzzer [--seed N] [--first N] [--count N] [--seconds N] [--lanes N]

          --seed N      what the stores are made from (1)
          --first N     the number of the first store (0)
          --count N     how many stores; as many as there is time for where it is not given
          --seconds N   how long stores are made, 600 where neither this nor --count is given
          --lanes N     how many stores are worked on at a time (2)
        """

    static func main() async {
        var fuzzer = StoreFuzzer()
        fuzzer.say = { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
        var visit: (store: String?, origin: String?, folder: String?) = (nil, nil, nil)
        var words = CommandLine.arguments.dropFirst().makeIterator()
        while let option = words.next() {
            guard let value = words.next() else { return fail(usage, 64) }
            switch (option, UInt64(value)) {
            case ("--visit", _): visit.store = value
            case ("--origin", _): visit.origin = value
            case ("--into", _): visit.folder = value
            case ("--seed", let number?): fuzzer.seed = number
            case ("--first", let number?): fuzzer.first = Int(min(number, 1 << 40))
            case ("--count", let number?): fuzzer.count = Int(min(number, 1 << 40))
            case ("--seconds", let number?): fuzzer.duration = .seconds(Int(min(number, 1 << 30)))
            case ("--lanes", let number?): fuzzer.lanes = Int(min(max(number, 1), 64))
            default: return fail(usage, 64)
            }
        }
        do {
            if let store = visit.store, let origin = visit.origin, let folder = visit.folder {
                var visit = LibraryVisit(store: store, origin: origin, folder: folder, seed: fuzzer.seed)
                try await visit.run()
                if !visit.violations.isEmpty { fail(visit.violations.joined(separator: "\n"), 3) }
                return
            }
            if fuzzer.count == nil, fuzzer.duration == nil { fuzzer.duration = .seconds(600) }
            let report = try await TemporaryFolder.with { [fuzzer] folder in try await fuzzer.run(in: folder) }
            print("\(report.summary), seed \(fuzzer.seed)")
            exit(report.violations.isEmpty ? 0 : 1)
        } catch {
            fail("store-fuzzer: \(error)", 2)
        }
    }

    private static func fail(_ text: String, _ status: Int32) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
        exit(status)
    }
}
