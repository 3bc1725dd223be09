import ResumeHTTP

/// URLs as people read them.
enum ReadableURL {
    /// Decodes the letters of other scripts and single spaces in a URL.
    ///
    /// What is decoded is encoded in the same way again if it is typed, so the text can be copied. Reserved characters
    /// remain encoded, and so does what is not UTF-8, is not visible, or changes the direction of the text.
    static func text(_ url: String) -> String {
        guard url.utf8.contains(.percent) else { return url }
        let hasOther = url.contains("%20%20") || url.hasSuffix("%20")
        let spaced = hasOther ? url : url.replacing("%20", with: " ")
        return spaced.replacing(/(?:%[0-9A-F]{2})+/) { match in decoded(match.0) ?? String(match.0) }
    }

    private static func decoded(_ encoded: Substring) -> String? {
        let bytes = encoded.split(separator: "%").compactMap { UInt8($0, radix: 16) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            result += isReadable(scalar) ? String(scalar) : PercentEncoding.encoded(String(scalar).utf8)
        }
    }

    private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber:
            !scalar.isASCII
        default: false
        }
    }
}
