#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeHTTP

/// A point in time: RFC 3339, a date, or a time span ago.
enum PointInTime: Equatable, TypedValue {
    /// Milliseconds since 1970.
    case at(Int64)
    /// So long before the command runs.
    case ago(TimeSpan)

    /// Parses `2026-03-01T12:30:00Z`, `2026-03-01` (the beginning of the day in UTC), or `2h`.
    init?(_ text: String) {
        if let span = TimeSpan(text) {
            self = .ago(span)
            return
        }
        // RFC 3339, 5.6: a date, the time with its decimals, and the offset.
        let form =
            #/
            ([0-9]{4}-[0-9]{2}-[0-9]{2})
            (?:[Tt\ ]([01][0-9]|2[0-3]):([0-5][0-9]):((?:[0-5][0-9]|60)(?:\.[0-9]+)?)
            (?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9])))?
            /#
        // The parser of dates accepts days that do not exist.
        guard let parts = text.wholeMatch(of: form),
            let day = try? Date("\(parts.1)T00:00:00Z", strategy: .iso8601), day.formatted(.iso8601).hasPrefix(parts.1)
        else { return nil }
        func number(_ text: Substring?) -> Double { text.flatMap { Double($0) } ?? 0 }
        let time = (number(parts.2) * 60 + number(parts.3)) * 60 + number(parts.4)
        let offset = (number(parts.6) * 60 + number(parts.7)) * 60
        let seconds = day.timeIntervalSince1970 + time + (parts.5 == "-" ? offset : -offset)
        self = .at(Int64((seconds * 1000).rounded()))
    }

    static let accepted = sentence("use-point")

    /// Returns the milliseconds since 1970.
    func milliseconds(now: Int64) -> Int64 {
        switch self {
        case .at(let time): time
        // A time span is not negative, so this cannot overflow.
        case .ago(let span): now - span.milliseconds
        }
    }
}
