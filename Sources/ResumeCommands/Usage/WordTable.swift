/// Texts about words, written as lines such as `word other: text`.
struct WordTable: ExpressibleByStringLiteral {
    private var texts: [String: String] = [:]

    init(stringLiteral lines: String) {
        for line in lines.split(separator: "\n") {
            let words = line.prefix { $0 != ":" }
            for word in words.split(separator: " ") {
                texts[String(word)] = String(line.dropFirst(words.count + ": ".count))
            }
        }
    }

    subscript(word: String) -> String? { texts[word] }
}
