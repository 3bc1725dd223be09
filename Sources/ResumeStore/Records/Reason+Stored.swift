internal import ResumeHTTP

/// A reason as one text: its code, a colon, its explanation.
extension Reason {
    /// The text that is stored.
    var stored: String { "\(code.rawValue): \(text)" }

    /// Reads what was stored; a text that was planted makes some reason, too.
    init(stored: String) {
        let parts = stored.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let text = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        self.init(code: .init(rawValue: parts.first ?? ""), text: text)
    }
}
