#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeStore

/// The current time in the unit of the store.
enum CurrentTime {
    static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

extension Entry {
    /// Whether it has not been used for longer than a time span.
    func isUnused(for span: TimeSpan, now: Int64) -> Bool {
        // A time span is not negative, so this cannot overflow, whatever the row contains.
        usedAt < now - span.milliseconds
    }
}
