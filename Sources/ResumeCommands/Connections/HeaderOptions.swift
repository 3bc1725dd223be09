import ArgumentParser
import HTTPTypes
import ResumeHTTP

/// The header fields of the user.
struct HeaderOptions: ParsableArguments {
    @Option("H header") var headers: [String] = []

    mutating func validate() throws {
        headers = try headers.flatMap { try lines($0) }
        for header in headers {
            guard let name = HeaderLine.field(header)?.name else { throw ValidationError(sentence("bad-field")) }
            guard !Plan.ownedFieldNames.contains(name) else {
                let instead =
                    name == .acceptEncoding ? "; use get --accept-encoding" : name == .range ? "; use get --range" : ""
                throw ValidationError("--header cannot set \(name), which resumectl sets\(instead)")
            }
        }
    }

    /// Returns the lines of a file for `@FILE`, so that secrets are no arguments, which other users can see.
    private func lines(_ header: String) throws -> [String] {
        guard header.hasPrefix("@") else { return [header] }
        try require(header != "@-", "--header @FILE requires a file")
        let path = String(header.dropFirst())
        var lines: [String] = []
        InputFile.forEachLine(in: try bytes(of: path, for: "--header")[...]) { lines.append($0.text ?? "") }
        try require(!lines.isEmpty, "--header: \(Printable.escaped(path)) contains no header field")
        return lines
    }

    /// The fields in their order, with only the last `Host`, since a server must not get two.
    var fields: HTTPFields {
        var fields = HTTPFields(headers.compactMap(HeaderLine.field))
        if let name = HTTPField.Name("Host"), let host = fields[values: name].last { fields[name] = host }
        return fields
    }
}
