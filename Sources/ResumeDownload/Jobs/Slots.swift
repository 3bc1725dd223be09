/// Which downloads run, as a value: a fixed number of them, and of each host.
///
/// A download gives its place to another one while it waits: for its origin or host before it begins, to try again, or
/// with all bytes of a small file, which is committed to disk together with others.
package struct Slots: Sendable {
    private enum Phase: Int, CaseIterable {
        /// It has a place, and no request yet.
        case admitted
        /// It waits for its origin or host before it begins.
        case parked
        /// It waits for nothing but a place before it begins.
        case ready
        case running
        /// It has given up its place for a while.
        case paused
        /// It waits for a place after that.
        case resuming
    }

    /// The downloads of a host.
    private struct Host {
        /// How many have a place.
        var placed = 0
        /// How many wait for a place to go on.
        var resuming = 0

        /// How many places are kept for those that go on.
        func claims(of limit: Int) -> Int { min(resuming, max(limit - placed, 0)) }
    }

    /// How many may wait to begin; others are not admitted before one of them runs.
    static let mostParked = 64
    /// How many that have begun may wait, unless fewer are configured.
    package static let mostPaused = 256

    /// How many run at a time.
    var count: Int
    let perHost: Int?
    private let mostPaused: Int
    private var downloads: [Int64: (host: String, phase: Phase)] = [:]
    /// How many downloads are in each phase.
    private var counts = [Int](repeating: 0, count: Phase.allCases.count)
    /// The hosts with downloads that have a place or wait to go on; empty without a limit for each host.
    private var hosts: [String: Host] = [:]
    /// How many places are kept for downloads that go on, and whose hosts have room.
    private var claims = 0
    /// How often a download has begun, ended or got another phase or host.
    private(set) var changes = 0

    /// Has no downloads yet.
    ///
    /// - Parameters:
    ///   - count: How many run at a time.
    ///   - perHost: How many of each host; nil for no limit.
    ///   - mostPaused: How many that have begun may wait.
    package init(count: Int, perHost: Int?, mostPaused: Int) {
        self.count = count
        self.perHost = perHost
        self.mostPaused = mostPaused
    }

    /// Whether there are no downloads.
    package var isIdle: Bool { downloads.isEmpty }

    private func number(_ phase: Phase) -> Int { counts[phase.rawValue] }

    private mutating func set(_ id: Int64, _ phase: Phase?, at host: String? = nil) {
        let old = downloads[id]
        let host = host ?? old?.host ?? ""
        // One that still waits asks again and again.
        if old?.phase == phase, phase == nil || old?.host == host { return }
        changes += 1
        if let old { change(-1, in: old.phase, at: old.host) }
        if let phase { change(1, in: phase, at: host) }
        downloads[id] = phase.map { (host, $0) }
    }

    private mutating func change(_ change: Int, in phase: Phase, at name: String) {
        counts[phase.rawValue] += change
        guard let perHost else { return claims = number(.resuming) }
        var host = hosts[name] ?? Host()
        claims -= host.claims(of: perHost)
        switch phase {
        case .admitted, .running: host.placed += change
        case .resuming: host.resuming += change
        case .parked, .ready, .paused: break
        }
        claims += host.claims(of: perHost)
        hosts[name] = host.placed + host.resuming > 0 ? host : nil
    }

    /// How many have a place.
    private var placed: Int { number(.admitted) + number(.running) }

    /// Whether a further download may find a place.
    package var mayAdmit: Bool {
        placed + number(.ready) + claims < count && number(.parked) < Self.mostParked
            && number(.paused) + number(.resuming) < mostPaused
    }

    /// Whether a host has room for a further download, or for one of its downloads that goes on.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - own: How many places at the host the download has.
    ///   - goesOn: Whether it has begun before, so that it comes first.
    /// - Returns: Whether there is room.
    func hasRoom(at host: String, besides own: Int = 0, goingOn goesOn: Bool = false) -> Bool {
        guard let perHost else { return true }
        let host = hosts[host] ?? Host()
        return host.placed - own + (goesOn ? 0 : host.resuming) < perHost
    }

    /// Whether a download has a place.
    func hasPlace(_ id: Int64) -> Bool { [.admitted, .running].contains(downloads[id]?.phase) }

    /// Gives a place to a further download, if there is one.
    ///
    /// - Parameters:
    ///   - id: The download.
    ///   - host: Its host; nil if that is not known yet.
    /// - Returns: Whether it was admitted.
    package mutating func admit(_ id: Int64, at host: String? = nil) -> Bool {
        guard mayAdmit, host.map({ hasRoom(at: $0) }) ?? true else { return false }
        set(id, .admitted, at: host)
        return true
    }

    /// Lets a download begin or go on if there is a place; those that have begun before come first.
    ///
    /// - Parameters:
    ///   - id: The download.
    ///   - host: Its host.
    ///   - mayBegin: Whether a download may begin at its origin.
    /// - Returns: Whether it runs now.
    package mutating func start(_ id: Int64, at host: String, mayBegin: Bool) -> Bool {
        guard let (admitted, phase) = downloads[id] else { return false }
        switch phase {
        case .running: return true
        case .admitted, .parked, .ready:
            let isAdmitted = phase == .admitted
            let mayRun = mayBegin && hasRoom(at: host, besides: isAdmitted && admitted == host ? 1 : 0)
            let isFree = isAdmitted || placed + claims < count
            set(id, mayRun ? isFree ? .running : .ready : .parked, at: host)
            return mayRun && isFree
        case .paused, .resuming:
            let isFree = placed < count && hasRoom(at: host, goingOn: true)
            set(id, isFree ? .running : .resuming)
            return isFree
        }
    }

    /// Takes the place of a download that is going to wait.
    package mutating func pause(_ id: Int64) { if downloads[id] != nil { set(id, .paused) } }

    /// Removes a download.
    package mutating func end(_ id: Int64) { set(id, nil) }
}
