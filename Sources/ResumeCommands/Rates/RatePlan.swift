import ResumeHTTP

/// A limit in bytes per second that may depend on the time of day: `2M`, `08:00-18:00=1M` or `08:00-18:00=1M,10M`.
struct RatePlan: Equatable, TypedValue {
    private struct Window: Equatable {
        /// In minutes since midnight.
        var start: Int
        /// May be before the start, if it is on the next day.
        var end: Int
        var rate: Int64

        func contains(_ minute: Int) -> Bool {
            start < end ? (start..<end).contains(minute) : minute >= start || minute < end
        }
    }

    /// As it was typed.
    let text: String
    private var windows: [Window] = []
    /// The limit outside of all windows; nil for none.
    private var usual: Int64?

    /// The limit if it is always the same; nil if it changes.
    var constant: Int64? { windows.isEmpty ? usual : nil }

    /// Parses a limit; `none` overrides one of the configuration file.
    init?(_ text: String) {
        self.text = text
        if text == "none" { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let match = part.wholeMatch(of: /([^-=]*)-([^-=]*)=(.*)/)
            let text = match?.3 ?? part
            // Rates are printed with the unit of time.
            guard let rate = ByteCount(String(text.hasSuffix("/s") ? text.dropLast(2) : text)), rate.bytes > 0
            else { return nil }
            if let match {
                guard let start = Self.minute(match.1), let end = Self.minute(match.2), start != end else {
                    return nil
                }
                windows.append(Window(start: start, end: end, rate: rate.bytes))
            } else if usual == nil {
                usual = rate.bytes
            } else {
                return nil
            }
        }
    }

    static let accepted = sentence("use-rate")

    /// Returns the limit at a time.
    ///
    /// - Parameter minute: Minutes since midnight; the first window that contains it counts.
    /// - Returns: The limit; nil if there is none.
    func rate(at minute: Int) -> Int64? { windows.first { $0.contains(minute) }?.rate ?? usual }

    /// Parses `HH:MM`; 24:00 is the end of a day.
    private static func minute(_ text: Substring) -> Int? {
        guard let match = text.wholeMatch(of: /(\d\d?):(\d\d?)/),
            let hour = Int(match.1), let minute = Int(match.2),
            hour < 24 && minute < 60 || hour == 24 && minute == 0
        else { return nil }
        return hour * 60 + minute
    }
}
