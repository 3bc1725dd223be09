package import HTTPTypes

/// Whether a response that is not the file may be followed by another one, and how long the server asks to wait for it.
package struct ResponseTiming: Sendable, Hashable {
    /// Whether the same request may succeed later.
    let isTemporary: Bool
    /// The seconds that the server asks to wait; nil if it does not.
    package let afterSeconds: Int64?

    /// Whether the wait holds for all files of the origin, and not only for the URL.
    package let holdsForOrigin: Bool

    /// Statuses that servers and proxies send while they are busy, locked or unreachable.
    private static let temporary: Set = [408, 420, 421, 423, 425, 429, 430, 449, 460, 499]
    /// Server errors that do not pass: the server lacks the method or the version of HTTP.
    private static let unsupported: Set = [501, 505]
    /// Statuses that pass only if the server says when.
    private static let postponed: Set = [202, 403, 404]
    /// Statuses of an exhausted rate limit; all others may carry its fields as well, even if they have another cause.
    private static let limited: Set = [403, 429]

    /// Judges a response by its status and its fields.
    package init(_ response: HTTPResponse) {
        let code = response.status.code
        let fields = response.headerFields
        let isTemporary =
            Self.temporary.contains(code) || 500...599 ~= code && !Self.unsupported.contains(code)
        afterSeconds =
            isTemporary || Self.postponed.contains(code)
            ? RetryAfter.seconds(in: fields) ?? RateLimit.seconds(in: fields, always: Self.limited.contains(code)) : nil
        self.isTemporary = isTemporary || afterSeconds != nil
        holdsForOrigin = afterSeconds != nil && ([429, 503].contains(code) || RateLimit.isExhausted(in: fields))
    }

    /// The delay that a server requests in `Retry-After`.
    ///
    /// Source: [RFC 9110, 10.2.3](https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3).
    package enum RetryAfter {
        /// The longest delay that is understood, in seconds: ten years.
        package static let longest: Int64 = 315_360_000

        /// Returns the seconds to wait, from 0 to ``longest``.
        ///
        /// A date is compared with the response's own `Date`, so that a wrong local clock does not matter.
        ///
        /// - Returns: nil if the field is absent or malformed, or is a date in a response without `Date`.
        package static func seconds(in fields: HTTPFields) -> Int64? {
            guard let text = fields.text(.retryAfter) else { return nil }
            if let number = Decimal64.parse(text, excess: .max) { return min(number, longest) }
            return HTTPDate(text).flatMap { seconds(until: $0.secondsSinceEpoch, in: fields) }
        }

        fileprivate static func seconds(until time: Int64, in fields: HTTPFields) -> Int64? {
            let now = fields.text(.date).flatMap { HTTPDate($0) }
            return now.map { min(max(time - $0.secondsSinceEpoch, 0), longest) }
        }
    }

    /// The delay that follows from the fields of a rate limit: `RateLimit` in its two forms, `RateLimit-Reset`,
    /// `X-RateLimit-Reset` and their relatives.
    ///
    /// Source: [RateLimit header fields for HTTP](https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/).
    private enum RateLimit {
        /// A reset above this number is a date, otherwise a number of seconds.
        private static let firstDate: Int64 = 1_000_000_000
        private static let prefixes = ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"]

        /// Returns the seconds until the limit permits requests again.
        ///
        /// - Parameters:
        ///   - fields: The fields of the response.
        ///   - always: Whether the status says that the limit is exhausted; otherwise a remaining number of 0 must say so.
        /// - Returns: nil if there are no such fields, or if they only accompany another failure.
        static func seconds(in fields: HTTPFields, always: Bool) -> Int64? {
            let limits = limits(in: fields)
            let exhausted = limits.filter { $0.remaining == 0 }.compactMap(\.reset)
            let known = exhausted.max() ?? (always ? limits.compactMap(\.reset).min() : nil)
            guard let known, known > firstDate else {
                return known.map { min($0, ResponseTiming.RetryAfter.longest) }
            }
            return ResponseTiming.RetryAfter.seconds(until: min(known, .max / 2), in: fields)
        }

        /// Whether a limit says that nothing remains.
        static func isExhausted(in fields: HTTPFields) -> Bool { limits(in: fields).contains { $0.remaining == 0 } }

        private static func limits(in fields: HTTPFields) -> [(remaining: Int64?, reset: Int64?)] {
            let text = value("RateLimit", in: fields)?.lowercased() ?? ""
            // The older form has the parameters of a single limit as members of the list.
            let members = text.contains("reset=") ? [text[...]] : text.split(separator: ",")
            let own = members.map { member in
                let parts = member.split { ",; ".contains($0) }
                func parameter(_ names: [String]) -> Int64? {
                    parts.compactMap { part in
                        names.first { part.hasPrefix($0) }.flatMap { count(part.dropFirst($0.count)) }
                    }.first
                }
                return (parameter(["r=", "remaining="]), parameter(["t=", "reset="]))
            }
            return own
                + prefixes.map { prefix in
                    (
                        value(prefix + "Remaining", in: fields).flatMap(count),
                        value(prefix + "Reset", in: fields).flatMap(count)
                    )
                }
        }

        /// Parses a number, of which some servers send a fraction.
        private static func count(_ text: some StringProtocol) -> Int64? {
            let digits = text.drop { $0 == " " || $0 == "\"" }.prefix { $0.isASCII && $0.isNumber }
            guard let number = Decimal64.parse(digits, excess: .max) else { return nil }
            let isFraction = text.contains(".") && number < firstDate
            return isFraction ? number + 1 : number
        }

        private static func value(_ name: String, in fields: HTTPFields) -> String? {
            HTTPField.Name(name).flatMap { fields[$0] }
        }
    }
}
