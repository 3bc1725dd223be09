import ResumeHTTP

/// Paths with other names.
extension Destination {
    /// Returns a destination with a number before the extension of the file, which replaces nothing.
    package func numbered(_ number: Int) -> Destination {
        named(byServer: FileName.fitting(name, numbered: number))
    }

    /// Returns a path with a number before the extension of the file: `image.1.iso`.
    static func path(_ path: String, numbered number: Int) -> String {
        let start = startOfName(in: path)
        return "\(path[..<start])\(FileName.fitting(String(path[start...]), numbered: number))"
    }

    /// Returns a path in the same folder with the name of another path.
    package static func path(_ path: String, named other: String) -> String {
        "\(path[..<startOfName(in: path)])\(other[startOfName(in: other)...])"
    }

    static func startOfName(in path: String) -> String.Index {
        // Compares bytes, because a name that begins with a combining mark would hide the slash before it.
        path.utf8.lastIndex(of: .slash).map { path.utf8.index(after: $0) } ?? path.startIndex
    }
}
