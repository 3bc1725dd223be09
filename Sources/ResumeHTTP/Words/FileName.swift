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
        if number == nil, name.utf8.count <= longest { return name }
        let dot = name.utf8.lastIndex(of: .dot) ?? name.endIndex
        // The dot of a hidden file does not begin an extension.
        let isExtension = dot > name.startIndex && name.utf8[dot...].count <= longestExtension
        let end = isExtension ? dot : name.endIndex
        let suffix = (number.map { ".\($0)" } ?? "") + name[end...]
        var room = longest - suffix.utf8.count
        let stem = name.unicodeScalars[..<end].prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(stem) + suffix
    }
}
