extension SecretParameter {
    /// The words of a parameter's name in lower case, without trailing digits: `X-Amz-AccessKeyId2` consists of x, amz,
    /// access, key, id, and the compound accesskeyid.
    struct Words {
        /// The words and compounds.
        private(set) var all: [String] = []
        /// Pairs of adjacent words.
        var pairs: Zip2Sequence<[String], ArraySlice<String>> { zip(words, words.dropFirst()) }
        private var words: [String] = []

        init(of name: [UInt8]) {
            for whole in name.split(whereSeparator: { !SecretParameter.isWordByte($0) }) {
                var start = whole.startIndex
                for index in whole.indices.dropFirst() {
                    let before = whole[index - 1]
                    let byte = whole[index]
                    let next = index + 1 < whole.endIndex ? whole[index + 1] : 0
                    // A capital begins a word in accessToken, and K does in APIKey.
                    guard SecretParameter.isUpper(byte),
                        !SecretParameter.isUpper(before) || SecretParameter.isLower(next)
                    else { continue }
                    words.append(Self.word(whole[start..<index]))
                    start = index
                }
                words.append(Self.word(whole[start...]))
                if start > whole.startIndex { all.append(Self.word(whole)) }
            }
            all += words
        }

        private static func word(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: bytes.reversed().drop(while: \.isDigit).reversed(), as: UTF8.self).lowercased()
        }
    }
}
