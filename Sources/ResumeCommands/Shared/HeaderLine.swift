import HTTPTypes
import ResumeHTTP

/// Header fields as people type them, and as programs print them.
enum HeaderLine {
    /// Parses `Name: value`.
    static func field(_ header: String) -> HTTPField? {
        guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
            return nil
        }
        let value = String(Substring(header.utf8[header.index(after: colon)...].trimmed))
        return HTTPField.isValidValue(value) ? HTTPField(name: name, value: value) : nil
    }

    /// Parses the output of a program: header fields, and lines of another form.
    ///
    /// - Parameters:
    ///   - output: The output.
    ///   - option: The option that names the program.
    ///   - others: What other lines are, in words.
    ///   - take: Takes a line of another form, or returns false.
    /// - Returns: The fields.
    /// - Throws: ``CommandFailure`` for any other line; the line is not shown, since it may contain a secret.
    static func fields(
        in output: String, of option: String, or others: String, _ take: (Substring) -> Bool
    ) throws -> HTTPFields {
        var fields = HTTPFields()
        for (index, line) in output.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.drop { $0.isWhitespace }
            if line.isEmpty || take(line) { continue }
            guard let field = field(String(line)), !Plan.ownedFieldNames.contains(field.name) else {
                let reason = sentence("other-line", index + 1, option, others)
                throw CommandFailure(.refused, reason, isResumable: true)
            }
            fields.append(field)
        }
        return fields
    }
}

extension HTTPFields {
    /// Returns these fields and others, which replace those of the same names.
    func replaced(by others: HTTPFields) -> HTTPFields {
        filter { others[$0.name] == nil } + others
    }
}
