import ResumeHTTP

/// A file of a manifest.
struct Model: Sendable {
    var url: DownloadURL
    /// What its bytes must have.
    var digest: HTTPDigest
    /// What it is called in the cache folder.
    var name: String

    /// What is wrong with a manifest.
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    /// Reads a manifest: a digest and a URL a line, as `sha256sum` writes them; empty lines and `#` are passed over.
    static func list(_ manifest: String) throws -> [Model] {
        var models: [Model] = []
        for (index, line) in manifest.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2 else {
                throw Problem(description: "line \(index + 1): expected a SHA-256 and a URL")
            }
            let url = try DownloadURL(words[1])
            // Never a path: the manifest may be a stranger's.
            guard let name = url.lastPathComponent, !name.hasPrefix(".") else {
                throw Problem(description: "line \(index + 1): the URL does not end in a file name")
            }
            guard !models.contains(where: { $0.name == name }) else {
                throw Problem(description: "line \(index + 1): duplicate file name \(name)")
            }
            models.append(Model(url: url, digest: try HTTPDigest(.sha256, parsing: first), name: name))
        }
        return models
    }
}
