/// The command line of `origin-server`.
struct Arguments {
    /// Why a command line cannot be used.
    struct Failure: Error {
        var message: String
    }

    /// How the command is used.
    static let usage = """
        usage: origin-server [--port N] [--size BYTES] [--seed N] [--rate BYTES_PER_SECOND] [--etag TAG] [--write FILE]

          --port N     the port on 127.0.0.1 to listen on; 0, the default, takes a free one
          --size BYTES the size of the file, 209715200 where it is not given
          --seed N     what the bytes of the file are made from, 1 where it is not given
          --rate N     the bytes a second of each response; 0, the default, is no limit
          --etag TAG   the entity tag; one that stands in no quotes gets them
          --write FILE write the bytes of the file to FILE and exit
        """

    var port = 0
    var size: Int64 = 209_715_200
    var seed: UInt64 = 1
    var rate = 0
    var etag = "\"v1\""
    var outputPath: String?
    var wantsHelp = false

    /// Reads a command line.
    ///
    /// - Parameter words: The words after the name of the command.
    /// - Throws: ``Failure`` for an unknown option, or a value that is missing, not a number or out of bounds.
    init(_ words: some Sequence<String>) throws(Failure) {
        var words = words.makeIterator()
        while let option = words.next() {
            if option == "--help" || option == "-h" {
                wantsHelp = true
                continue
            }
            guard ["--port", "--size", "--seed", "--rate", "--etag", "--write"].contains(option) else {
                throw Failure(message: "unknown option \(option)")
            }
            guard let value = words.next() else { throw Failure(message: "\(option) needs a value") }
            switch option {
            case "--port": port = try Self.number(value, of: option, in: 0...65535)
            case "--size": size = try Self.number(value, of: option, in: 0...Int64.max)
            case "--seed": seed = try Self.number(value, of: option, in: 0...UInt64.max)
            case "--rate": rate = try Self.number(value, of: option, in: 0...Int.max)
            case "--etag": etag = value.hasSuffix("\"") ? value : "\"\(value)\""
            default: outputPath = value
            }
        }
    }

    /// Reads a number.
    ///
    /// - Parameters:
    ///   - text: The digits.
    ///   - option: The option, for the message.
    ///   - bounds: The permitted numbers.
    /// - Returns: The number.
    /// - Throws: ``Failure`` if it is not a number or out of bounds.
    private static func number<Number: FixedWidthInteger>(
        _ text: String,
        of option: String,
        in bounds: ClosedRange<Number>
    ) throws(Failure) -> Number {
        guard let number = Number(text), bounds.contains(number) else {
            throw Failure(message: "\(option) needs a number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }
}
