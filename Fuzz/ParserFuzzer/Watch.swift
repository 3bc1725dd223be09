#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Tells the input under way when the program is about to die of it, or hangs in it.
enum Watch {
    private struct Current {
        var parser = ""
        var seed: UInt64 = 0
        var number: UInt64 = 0
        var input: [UInt8] = []
    }

    /// Written by the only thread, and read by a signal that stops it.
    nonisolated(unsafe) private static var current = Current()

    /// How long one input may take, in seconds; a machine that is busy must not pass for a hang.
    private static let patience: UInt32 = 60

    /// Takes over the signals of traps, bad memory and hangs.
    static func begin() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM] {
            signal(number) { number in
                // It allocates, which a handler must not in general. A trap comes from Swift code that holds no lock, and
                // if all goes wrong the second signal ends the program as the first one would have.
                signal(number, SIG_DFL)
                let text = unsafe "\(number == SIGALRM ? "hang" : "trap")\n\(Watch.description)\n"
                _ = unsafe text.withCString { unsafe write(2, $0, strlen($0)) }
                raise(number)
            }
        }
    }

    /// Takes note of the next input.
    @unsafe static func note(parser: Parser, seed: UInt64, number: UInt64, input: [UInt8]) {
        unsafe current.parser = parser.name
        unsafe current.seed = seed
        unsafe current.number = number
        unsafe current.input = input
        if number % 1024 == 0 { alarm(patience) }
    }

    /// The input as a literal, and how to have it again.
    @unsafe static var description: String {
        let input = unsafe current.input
        let literal =
            String(validating: input, as: UTF8.self)
            .map { "\"" + $0.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() + "\"" } ?? "\(input) as [UInt8]"
        let (parser, seed, number) = unsafe (current.parser, current.seed, current.number)
        return "\(parser) (again: --seed \(seed) --first \(number) --count 1):\n\(literal)"
    }
}
