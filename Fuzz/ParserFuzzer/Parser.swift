/// A parser of data sent by a server, and the conditions that its results must meet.
///
/// A new parser is one entry in ``all``.
struct Parser: Sendable {
    /// The outcome for one input.
    enum Outcome: Sendable {
        /// The parser rejected the input.
        case rejected
        /// The parser accepted the input, and all conditions are met.
        case accepted
        /// A condition is not met.
        case broken(String)

        /// Returns `accepted` if all expectations are true; otherwise the names of those that are not.
        static func expecting(_ expectations: KeyValuePairs<String, Bool>) -> Outcome {
            let broken = expectations.lazy.filter { !$0.value }.map(\.key)
            return broken.isEmpty ? .accepted : .broken(broken.joined(separator: ", "))
        }
    }

    /// The name in the report and on the command line.
    let name: String
    /// The shapes of valid inputs, from which inputs are made and then damaged.
    let shapes: [Shape]
    /// Parses one input and checks the conditions.
    let read: @Sendable ([UInt8]) -> Outcome

    /// Makes a parser.
    init(_ name: String, _ shapes: [Shape], _ read: @escaping @Sendable ([UInt8]) -> Outcome) {
        self.name = name
        self.shapes = shapes
        self.read = read
    }

    /// All parsers; inputs are assigned to them in turn.
    static let all: [Parser] = [
        contentRange, entityTag, date, retryAfter, url, location, printable, representation, verdict, headVerdict,
        digest,
        rangeSelection,
    ]
}
