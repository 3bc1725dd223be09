/// Makes untrusted text safe to display.
package enum Printable {
    /// Replaces control characters, line separators and characters that change the text direction with escapes such as
    /// `\u{1B}`, so that text from a server or a filename cannot control the terminal.
    package static func escaped(_ text: String) -> String {
        // Nearly all texts; looking up the category of a character takes long.
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isUnsafe(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
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
