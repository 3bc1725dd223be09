import Crowd

/// The command line of `store-crowd`.
struct Arguments {
    /// Why a command line cannot be used.
    struct Failure: Error {
        var message: String
    }

    /// How the command is used.
    static let usage = """
        usage: store-crowd [--seconds N] [--seed N] [--members N] [--locks working|sqlite|none]
               store-crowd --takeover N
               store-crowd --wal-soak N [--unguarded] [--seconds N] [--seed N]

          --seconds N   how long the crowd goes on, 600 where it is not given; of a soak, each run, 3
          --seed N      what the choices are made from (1)
          --members N   how many downloads run at a time, 12 where it is not given
          --locks WHICH which locks work, all where it is not given: with those of SQLite alone, or with none, only
                        wrong bytes, crashes and hangs are violations
          --takeover N  measure N times how soon a waiting process goes on after its owner was killed
          --wal-soak N  write and checkpoint one database from several processes, N times, and look at it
          --unguarded   without the store's lock around writes and checkpoints
        """

    /// The task to run.
    enum Task: Equatable {
        case crowd, takeover(Int), soak(Int), worker(Int), help
    }

    var task = Task.crowd
    var seconds: Int?
    var seed: UInt64?
    var members = 12
    var locks = Crowd.Locks.working
    var isUnguarded = false
    var path = ""

    /// Reads a command line.
    ///
    /// - Parameter words: The words after the name of the command.
    /// - Throws: ``Failure`` for an unknown option, or a value that is missing, not a number or out of bounds.
    init(_ words: some Sequence<String>) throws(Failure) {
        var words = words.makeIterator()
        while let option = words.next() {
            if option == "--help" || option == "-h" {
                task = .help
                continue
            }
            if option == "--unguarded" {
                isUnguarded = true
                continue
            }
            guard let value = words.next() else { throw Failure(message: "\(option) needs a value") }
            switch option {
            case "--seconds": seconds = try Self.number(value, of: option, in: 1...86_400)
            case "--seed": seed = try Self.number(value, of: option, in: 0...UInt64.max)
            case "--members": members = try Self.number(value, of: option, in: 1...64)
            case "--takeover": task = .takeover(try Self.number(value, of: option, in: 1...10_000))
            case "--wal-soak": task = .soak(try Self.number(value, of: option, in: 1...10_000))
            // The workers that a soak starts.
            case "--wal-worker": task = .worker(try Self.number(value, of: option, in: 0...64))
            case "--locks":
                guard let which = Crowd.Locks(rawValue: value) else {
                    throw Failure(message: "--locks is working, sqlite or none")
                }
                locks = which
            case "--database": path = value
            default: throw Failure(message: "unknown option \(option)")
            }
        }
    }

    private static func number<Number: FixedWidthInteger>(
        _ text: String, of option: String, in bounds: ClosedRange<Number>
    ) throws(Failure) -> Number {
        guard let number = Number(text), bounds.contains(number) else {
            throw Failure(message: "\(option) needs a number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }
}
