#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Runs the parsers on almost valid inputs, and stops at the first one that traps, hangs or fails a check.
enum ParserFuzzer {
    static func main() {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            print(Options.usage)
            exit(64)
        }
        guard options.parser.map({ name in Parser.all.contains { $0.name == name } }) ?? true else {
            print("There is no parser of that name; there are: \(Parser.all.map(\.name).joined(separator: ", ")).")
            exit(64)
        }
        exit(run(options) ? 0 : 1)
    }

    /// Runs all inputs.
    ///
    /// - Returns: Whether all checks passed.
    private static func run(_ options: Options) -> Bool {
        let started = ContinuousClock.now
        var counts = Parser.all.map { _ in (read: 0, accepted: 0) }
        Watch.begin()
        for number in options.first..<options.first + options.count {
            // The number selects the parser, even if other parsers are skipped.
            let index = Int(number % UInt64(Parser.all.count))
            let parser = Parser.all[index]
            guard options.parser == nil || options.parser == parser.name else { continue }
            var maker = InputMaker(seed: options.seed, number: number)
            let input = maker.input(for: parser)
            unsafe Watch.note(parser: parser, seed: options.seed, number: number, input: input)
            counts[index].read += 1
            switch parser.read(input) {
            case .rejected: break
            case .accepted: counts[index].accepted += 1
            case .broken(let problem):
                unsafe print("\(parser.name): broken: \(problem)\n\(Watch.description)")
                return false
            }
        }
        for (parser, count) in zip(Parser.all, counts) where count.read > 0 {
            print("\(parser.name): \(count.read) inputs, \(count.accepted) of them accepted")
        }
        print("\(options.count) inputs of seed \(options.seed) in \(ContinuousClock.now - started): nothing found")
        return true
    }
}

#if !LIBFUZZER
@main extension ParserFuzzer {}
#endif

/// The command line.
struct Options {
    /// The seed of the inputs.
    var seed: UInt64 = 1
    /// The number of inputs.
    var count: UInt64 = 1_000_000
    /// The number of the first one.
    var first: UInt64 = 0
    /// The only parser to run, with its share of the inputs; nil for all.
    var parser: String?

    static let usage = "usage: parser-fuzzer [--seed N] [--count N] [--first N] [--parser NAME]"

    /// Parses the arguments; nil if they are invalid.
    init?(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        while let name = rest.next() {
            guard let value = rest.next() else { return nil }
            switch (name, UInt64(value)) {
            case ("--parser", _): parser = value
            case ("--seed", let number?): seed = number
            case ("--count", let number?): count = min(number, 1 << 60)
            case ("--first", let number?): first = min(number, 1 << 60)
            default: return nil
            }
        }
    }
}
