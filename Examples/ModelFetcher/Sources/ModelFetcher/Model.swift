import Resume

/// A file in a manifest.
struct Model: Sendable {
    var url: DownloadURL
    /// The digest that the file must have.
    var digest: HTTPDigest
    /// The name of the file in the cache folder.
    var name: String

    /// An error in a manifest.
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    /// Parses a manifest with a digest and a URL per line, like `sha256sum` output; ignores empty lines and `#`
    /// comments.
    static func list(_ manifest: String) throws -> [Model] {
        var models: [Model] = []
        for (index, line) in manifest.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2 else {
                throw Problem(description: "line \(index + 1): expected a SHA-256 and a URL")
            }
            let url = try DownloadURL(words[1])
            // Must not be a path, since the manifest may be untrusted.
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
