internal import ArgumentParser

/// A limit in bytes per second that may depend on the time of day: `2M`, `08:00-18:00=1M` or `08:00-18:00=1M,10M`.
package struct RatePlan: Sendable, Equatable {
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
    package let text: String
    private var windows: [Window] = []
    /// The limit outside of all windows; nil for none.
    private var usual: Int64?

    /// The limit if it is always the same; nil if it changes.
    package var constant: Int64? { windows.isEmpty ? usual : nil }

    /// Parses a limit; `none` overrides one of the configuration file.
    package init?(_ text: String) {
        self.text = text
        if text == "none" { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let value = sides.last, let rate = try? ByteCount.rate(value), rate.bytes > 0 else { return nil }
            if sides.count == 1 {
                guard usual == nil else { return nil }
                usual = rate.bytes
                continue
            }
            let times = sides[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.minute)
            guard times.count == 2, let start = times[0], let end = times[1], start != end else { return nil }
            windows.append(Window(start: start, end: end, rate: rate.bytes))
        }
    }

    /// Parses the value of an option.
    ///
    /// - Throws: `ValidationError` with the accepted forms.
    static func argument(_ text: String) throws -> RatePlan {
        try RatePlan(text).orRefuse(
            "\(ByteCount.acceptedRates), which may be for a time of day, such as 08:00-18:00=1M")
    }

    /// Returns the limit at a time.
    ///
    /// - Parameter minute: Minutes since midnight; the first window that contains it counts.
    /// - Returns: The limit; nil if there is none.
    package func rate(at minute: Int) -> Int64? { windows.first { $0.contains(minute) }?.rate ?? usual }

    /// Parses `HH:MM`; 24:00 is the end of a day.
    private static func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.count) }), let hour = UInt8(parts[0]),
            let minute = UInt8(parts[1]), hour < 24 && minute < 60 || hour == 24 && minute == 0
        else { return nil }
        return Int(hour) * 60 + Int(minute)
    }
}
