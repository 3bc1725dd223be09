import ResumeHTTP

/// A reason as a single text: its code, a colon, and its explanation.
extension Reason {
    var stored: String { "\(code.rawValue): \(text)" }

    /// Parses a stored text; a manipulated text results in some reason, too.
    init(stored: String) {
        let parts = stored.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let text = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        self.init(code: .init(rawValue: parts.first ?? ""), text: text)
    }
}
