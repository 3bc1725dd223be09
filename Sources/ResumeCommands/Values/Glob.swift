import ArgumentParser

/// A pattern with `*` and `?`, for `--match`.
struct Glob: ExpressibleByArgument {
    private let pattern: [Character]

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        pattern = Array(argument)
    }

    /// Returns whether the whole text matches the pattern.
    ///
    /// Backtracks at most to the last star, so no pattern is slow.
    func matches(_ text: String) -> Bool {
        let text = Array(text)
        var at = 0
        var inPattern = 0
        var lastStar: (pattern: Int, text: Int)?
        while at < text.count {
            if inPattern < pattern.count, pattern[inPattern] == "*" {
                lastStar = (inPattern, at)
                inPattern += 1
            } else if inPattern < pattern.count, pattern[inPattern] == "?" || pattern[inPattern] == text[at] {
                inPattern += 1
                at += 1
            } else if let star = lastStar {
                lastStar = (star.pattern, star.text + 1)
                inPattern = star.pattern + 1
                at = star.text + 1
            } else {
                return false
            }
        }
        return pattern[inPattern...].allSatisfy { $0 == "*" }
    }
}
