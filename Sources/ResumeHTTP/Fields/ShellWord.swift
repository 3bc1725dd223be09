/// Words of a shell's command line.
package enum ShellWord {
    /// Returns a text as one word that a shell does not interpret, for commands in messages.
    ///
    /// It has backslashes, since messages put commands in quotes, which users may copy as well. Control characters are
    /// shown as escapes.
    package static func quoted(_ text: String) -> String {
        text.isEmpty ? "''" : Printable.escaped(text).unicodeScalars.map(quoted).joined()
    }

    /// Returns a scalar as a part of a word; a shell interprets none outside ASCII.
    package static func quoted(_ scalar: Unicode.Scalar) -> String {
        let isPlain =
            !scalar.isASCII || scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "-_./:=@%+,^".unicodeScalars.contains(scalar)
        return isPlain ? "\(scalar)" : "\\\(scalar)"
    }
}
