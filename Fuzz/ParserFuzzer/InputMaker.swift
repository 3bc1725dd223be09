/// Makes inputs: valid ones from a parser's shapes, and damaged ones.
///
/// An input depends only on the seed and its number, so each can be reproduced individually.
struct InputMaker {
    private var generator: SplitMix64

    /// Prepares for one input.
    init(seed: UInt64, number: UInt64) {
        var mixer = SplitMix64(state: seed)
        generator = SplitMix64(state: mixer.next() ^ (number &* 0xD1B5_4A32_D192_ED03))
    }

    /// Returns the input for a parser.
    mutating func input(for parser: Parser) -> [UInt8] {
        var bytes: [UInt8] = []
        switch below(10) {
        case 0: appendTokens(to: &bytes, upTo: 8)
        case 1: appendNoise(to: &bytes, upTo: 24)
        default: append(parser.shapes[below(parser.shapes.count)], to: &bytes)
        }
        if below(2) == 0 {
            for _ in 0...below(3) { damage(&bytes, parser: parser) }
        }
        return bytes
    }

    /// Returns a number from 0 up to but not including `bound`.
    private mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: generator.next() >> 33) % max(bound, 1)
    }

    // MARK: Valid inputs

    private mutating func append(_ shape: Shape, to bytes: inout [UInt8]) {
        for part in shape.parts {
            switch part {
            case .literal(let literal): bytes += literal
            case .slot(let slot): fill(slot, in: &bytes)
            }
        }
    }

    private mutating func fill(_ slot: Shape.Slot, in bytes: inout [UInt8]) {
        switch slot {
        case .number: appendNumber(to: &bytes)
        case .date: appendDate(to: &bytes)
        case .tag:
            if below(4) == 0 { bytes += Array("W/".utf8) }
            bytes.append(0x22)
            for _ in 0..<below(9) { bytes.append(UInt8(truncatingIfNeeded: 0x23 + below(0xDD))) }
            bytes.append(0x22)
        case .noise: appendNoise(to: &bytes, upTo: 6)
        case .urlPart: bytes += Token.urlParts[below(Token.urlParts.count)]
        case .lines:
            for _ in 0...below(6) {
                append(Shape.lines[below(Shape.lines.count)], to: &bytes)
                bytes.append(0x0A)
            }
        case .held: bytes += Token.held
        case .ranges:
            for index in 0...below(3) {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                let first = below(250_000)
                let text = ["\(first)-\(first + below(100_000))", "\(first)-", "-\(first + 1)", "0-249999"][below(4)]
                bytes += Array(text.utf8)
            }
        case .base64:
            for _ in 0..<[43, 43, 43, 42, 86, below(100)][below(6)] {
                bytes.append(Token.base64[below(Token.base64.count)])
            }
            if below(4) > 0 { bytes.append(UInt8(ascii: "=")) }
        }
    }

    private mutating func appendNumber(to bytes: inout [UInt8]) {
        switch below(4) {
        case 0: bytes += Array(String(below(300_000)).utf8)
        case 1: for _ in 0...below(24) { bytes.append(UInt8(truncatingIfNeeded: 0x30 + below(10))) }
        default: bytes += Token.numbers[below(Token.numbers.count)]
        }
    }

    private mutating func appendDate(to bytes: inout [UInt8]) {
        let day = Token.days[below(7)]
        let month = Token.months[below(12)]
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        let time = "\(two(below(25))):\(two(below(61))):\(two(below(62)))"
        let (number, year) = (below(33), below(10_000))
        let four = String(repeating: "0", count: 4 - String(year).count) + String(year)
        let text =
            switch below(6) {
            case 0: "\(day), \(two(number))-\(month)-\(two(year % 100)) \(time) GMT"
            case 1: "\(day.prefix(3)) \(month) \(number < 10 ? " " : "")\(number) \(time) \(four)"
            default: "\(day.prefix(3)), \(two(number)) \(month) \(four) \(time) GMT"
            }
        bytes += Array(text.utf8)
    }

    private mutating func appendTokens(to bytes: inout [UInt8], upTo count: Int) {
        for _ in 0..<below(count + 1) { bytes += Token.all[below(Token.all.count)] }
    }

    private mutating func appendNoise(to bytes: inout [UInt8], upTo count: Int) {
        for _ in 0..<below(count + 1) { bytes.append(UInt8(truncatingIfNeeded: generator.next())) }
    }

    // MARK: Damage

    private mutating func damage(_ bytes: inout [UInt8], parser: Parser) {
        let place = below(bytes.count + 1)
        let end = min(place + 1 + below(8), bytes.count)
        switch below(8) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(truncatingIfNeeded: below(8))
        case 1 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: generator.next())
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4: bytes.removeLast(bytes.count - place)
        case 5:
            // The end of another valid input.
            var other: [UInt8] = []
            append(parser.shapes[below(parser.shapes.count)], to: &other)
            bytes.replaceSubrange(place..., with: other.dropFirst(min(place, other.count)))
        case 6 where below(500) == 0:
            // Long inputs are rare because they are slow.
            let piece = Token.all[below(Token.all.count)]
            for _ in 0..<below(5000) { bytes.insert(contentsOf: piece, at: place) }
        default: bytes.insert(contentsOf: Token.all[below(Token.all.count)], at: place)
        }
    }
}

/// The generator by Steele, Lea and Flood; every state is valid.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
