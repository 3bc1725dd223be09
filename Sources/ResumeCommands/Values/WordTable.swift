/// Texts about words, from a file with lines such as `word other: text`.
struct WordTable {
    private var texts: [String: String] = [:]

    init(_ file: [UInt8]) {
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
            let words = line.prefix { $0 != ":" }
            for word in words.split(separator: " ") {
                texts[String(word)] = String(line.dropFirst(words.count + ": ".count))
            }
        }
    }

    subscript(word: String) -> String? { texts[word] }
}
