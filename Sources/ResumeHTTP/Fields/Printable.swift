/// Makes untrusted text safe to display.
package enum Printable {
    /// Replaces control characters, line separators and characters that change the text direction with escapes such as
    /// `\u{1B}`, so that text from a server or a filename cannot control the terminal; a byte of a path that is not UTF-8
    /// is shown as `\xE9`.
    package static func escaped(_ text: String) -> String {
        // Nearly all texts; looking up the category of a character takes long.
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isUnsafe(scalar) {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                // The code points of such bytes in the strings of paths.
                result += 0xF780...0xF7FF ~= scalar.value ? "\\x\(digits.suffix(2))" : "\\u{\(digits)}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: true
        default: false
        }
    }
}
