/// One thing that reads what a server sends, and what must hold of whatever it makes of it.
///
/// A new parser is one entry in ``all``.
struct Parser: Sendable {
    /// What became of one input.
    enum Outcome: Sendable {
        /// It was not what the parser reads.
        case rejected
        /// It was read, and everything that must hold does.
        case accepted
        /// Something that must hold does not.
        case broken(String)

        /// Accepted where all of these hold; else the names of those that do not.
        static func expecting(_ expectations: KeyValuePairs<String, Bool>) -> Outcome {
            let broken = expectations.lazy.filter { !$0.value }.map(\.key)
            return broken.isEmpty ? .accepted : .broken(broken.joined(separator: ", "))
        }
    }

    /// How it is called in the report and on the command line.
    let name: String
    /// What right inputs look like; half of all inputs are these, the others are damaged ones.
    let shapes: [Shape]
    /// Reads one input.
    let read: @Sendable ([UInt8]) -> Outcome

    /// Makes a parser.
    init(_ name: String, _ shapes: [Shape], _ read: @escaping @Sendable ([UInt8]) -> Outcome) {
        self.name = name
        self.shapes = shapes
        self.read = read
    }

    /// All parsers; inputs are dealt to them in turn.
    static let all: [Parser] = [
        contentRange, entityTag, date, retryAfter, url, location, printable, representation, verdict, headVerdict,
        digest,
        rangeSelection,
    ]
}
