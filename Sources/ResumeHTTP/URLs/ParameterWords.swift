/// The words of a parameter's name in lower case, without the digits at their ends: `X-Amz-AccessKeyId2` has x, amz,
/// access, key, id, and as a whole accesskeyid.
struct ParameterWords {
    /// Each, and what is written as one.
    private(set) var all: [String] = []
    /// Each and the next one.
    var pairs: Zip2Sequence<[String], ArraySlice<String>> { zip(words, words.dropFirst()) }
    private var words: [String] = []

    init(of name: [UInt8]) {
        for whole in name.split(whereSeparator: { !SecretParameter.isWordByte($0) }) {
            var start = whole.startIndex
            for index in whole.indices.dropFirst() {
                let (before, byte) = (whole[index - 1], whole[index])
                let next = index + 1 < whole.endIndex ? whole[index + 1] : 0
                // accessToken, and APIKey.
                guard SecretParameter.isUpper(byte), !SecretParameter.isUpper(before) || SecretParameter.isLower(next)
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
        String(decoding: bytes.reversed().drop(while: SecretParameter.isDigit).reversed(), as: UTF8.self).lowercased()
    }
}
