#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Prints the current input when the program traps or hangs.
enum Watch {
    private struct Current {
        var parser = ""
        var seed: UInt64 = 0
        var number: UInt64 = 0
        var input: [UInt8] = []
    }

    /// Written by the only thread, and read by a signal handler that interrupts it.
    nonisolated(unsafe) private static var current = Current()

    /// The time limit for one input in seconds, long enough for a busy machine.
    private static let patience: UInt32 = 60

    /// Handles the signals for traps, invalid memory access and hangs.
    static func begin() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM] {
            signal(number) { number in
                // Allocating is not safe in a signal handler in general. But a trap comes from Swift code that holds no
                // lock, and otherwise the second signal ends the program as the first one would have.
                signal(number, SIG_DFL)
                let text = unsafe "\(number == SIGALRM ? "hang" : "trap")\n\(Watch.description)\n"
                _ = unsafe text.withCString { unsafe write(2, $0, strlen($0)) }
                raise(number)
            }
        }
    }

    /// Records the next input.
    @unsafe static func note(parser: Parser, seed: UInt64, number: UInt64, input: [UInt8]) {
        unsafe current.parser = parser.name
        unsafe current.seed = seed
        unsafe current.number = number
        unsafe current.input = input
        if number % 1024 == 0 { alarm(patience) }
    }

    /// The input as a literal, and the options to reproduce it.
    @unsafe static var description: String {
        let input = unsafe current.input
        let literal =
            String(validating: input, as: UTF8.self)
            .map { "\"" + $0.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() + "\"" } ?? "\(input) as [UInt8]"
        let (parser, seed, number) = unsafe (current.parser, current.seed, current.number)
        return "\(parser) (again: --seed \(seed) --first \(number) --count 1):\n\(literal)"
    }
}
