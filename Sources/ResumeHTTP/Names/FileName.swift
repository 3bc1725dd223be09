/// Names of files that are made from other names.
package enum FileName {
    /// The maximum length of a name in bytes on the usual file systems.
    private static let longest = 255
    /// The maximum length of an extension, in bytes; what follows the dot of a long sentence is none.
    private static let longestExtension = 32

    /// Returns a name that file systems permit: one that is too long is cut before its extension.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - number: A number to insert before the extension: `image.1.iso`.
    /// - Returns: The name.
    package static func fitting(_ name: String, numbered number: Int? = nil) -> String {
        let number = number.map { ".\($0)" } ?? ""
        guard !number.isEmpty || name.utf8.count > longest else { return name }
        // The dot of a hidden file does not begin an extension.
        let dot = name.utf8.lastIndex(of: .dot).flatMap { $0 > name.startIndex ? $0 : nil }
        let end = dot.flatMap { name.utf8[$0...].count > longestExtension ? nil : $0 } ?? name.endIndex
        let room = longest - number.utf8.count - name.utf8[end...].count
        var size = 0
        let stem = name.unicodeScalars[..<end].prefix { scalar in
            size += UTF8.width(scalar)
            return size <= room
        }
        return "\(String(stem))\(number)\(name[end...])"
    }
}
