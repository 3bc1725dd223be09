import ResumeHTTP

/// Finds the name that was probably meant.
enum Suggestion {
    /// The commands here for words of other programs.
    static let commands = WordTable(PackageResources.foreign_commands_txt)

    /// Finds the name that is most similar to a text.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - names: The valid names, of which an earlier one is preferred.
    /// - Returns: The name; nil if none is similar.
    static func name(for text: String, among names: [String]) -> String? {
        // A longer text is not a typing error.
        guard text.utf8.count <= 20 else { return nil }
        let lowercased = text.lowercased()
        let most = lowercased.count <= 4 ? 1 : 2
        let close = names.map { (name: $0, distance: distance($0, lowercased)) }.filter { $0.distance <= most }
        return close.min { $0.distance < $1.distance }?.name
            ?? (lowercased.count >= 3 ? names.first { $0.hasPrefix(lowercased) } : nil)
    }

    /// Returns how many characters must be inserted, removed, replaced or swapped with the next one.
    private static func distance(_ first: String, _ second: String) -> Int {
        let first = Array(first)
        let second = Array(second)
        var rows = [Array(0...second.count)]
        for (row, left) in first.enumerated() {
            var next = [row + 1]
            for (column, right) in second.enumerated() {
                var least = min(next[column], rows[row][column + 1]) + 1
                least = min(least, rows[row][column] + (left == right ? 0 : 1))
                if row > 0, column > 0, left == second[column - 1], first[row - 1] == right {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[first.count][second.count]
    }
}
