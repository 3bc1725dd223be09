#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A limit that is set while downloads run.
struct ChangedRate: Equatable {
    /// nil if there is to be no limit.
    let plan: RatePlan?

    private static let none = "none"

    /// Parses a limit, or `none`.
    init?(_ text: String) {
        guard text != Self.none else {
            plan = nil
            return
        }
        guard let plan = RatePlan(text) else { return nil }
        self.plan = plan
    }

    /// Parses the value of an option.
    ///
    /// - Throws: `ValidationError` with the accepted forms.
    static func argument(_ text: String) throws -> ChangedRate {
        if let rate = ChangedRate(text) { return rate }
        _ = try RatePlan.argument(text)
        return ChangedRate(plan: nil)
    }

    private init(plan: RatePlan?) { self.plan = plan }

    /// As it was typed.
    var text: String { plan?.text ?? Self.none }
}

/// The limits that `resumectl set` passes on to running processes, in a file of the store.
struct ChangedRates {
    /// That of each download; nil if it does not change.
    var each: ChangedRate?
    /// That of all downloads together; nil if it does not change.
    var total: ChangedRate?

    private static let names = (each: "limit-rate=", total: "total-rate=")
    private static let longest = 1024

    /// Makes changes.
    init(each: ChangedRate?, total: ChangedRate?) { (self.each, self.total) = (each, total) }

    /// Reads the file; what is not a limit in it changes nothing.
    init(reading path: String) {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        for line in String(decoding: bytes.prefix(Self.longest), as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix(Self.names.each) { each = ChangedRate(String(line.dropFirst(Self.names.each.count))) }
            if line.hasPrefix(Self.names.total) { total = ChangedRate(String(line.dropFirst(Self.names.total.count))) }
        }
    }

    /// The contents of the file.
    var text: String {
        [each.map { Self.names.each + $0.text }, total.map { Self.names.total + $0.text }].compactMap { $0 }
            .joined(separator: "\n")
    }

    /// Returns the path of the file in a store.
    static func path(in store: String) -> String { "\(store)/limit-rate" }
}
