internal import Foundation
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization
package import TestSupport

/// A way of use, simulated for a month with a clock and a server that lies.
package final class Month: Sendable {
    /// What came of it.
    package struct Report: Sendable, Codable {
        /// How many bytes the server sent.
        package var sent: Int64 = 0
        /// How many bytes were needed.
        package var needed: Int64 = 0
        /// How many files were delivered.
        package var delivered = 0
        /// How many runs ended with a failure that may pass.
        package var failures = 0
        /// The seconds of all waits, and of the longest one.
        package var waited = 0.0
        package var longestWait = 0.0
        /// How often each reason was given.
        package var said: [String: Int] = [:]
        /// The most requests in one second.
        package var burst = 0
        /// What was wrong or lost.
        package var wrong: [String] = []

        /// The bytes that were sent as a multiple of those that were needed.
        package var multiple: Double { Double(sent) / Double(max(needed, 1)) }
    }

    /// The ways of use.
    package enum Use: String, Sendable, CaseIterable {
        /// Models of 40 to 400 GB, here of a four-thousandth, with expiring tokens and signed redirects.
        case models
        /// A nightly list of 2,000 files with checksums, of which one is down for days.
        case list
        /// 200 machines and one origin that says 429.
        case machines
        /// A laptop with captive portals.
        case laptop
    }

    static let day = Duration.seconds(86_400)
    static let days = 30

    let clock = EventClock { time in
        #if DEBUG
        WallClock.setAhead(time)
        #endif
    }
    let folder: TemporaryFolder
    private let report = Mutex(Report())
    private let random = Mutex(SplitMix64(seed: 43))

    private init(in folder: TemporaryFolder) { self.folder = folder }

    /// Simulates a month.
    ///
    /// - Throws: The error of a store that cannot be opened.
    package static func report(of use: Use, in folder: TemporaryFolder) async throws -> Report {
        let month = Month(in: folder)
        try FileManager.default.createDirectory(atPath: folder["out"], withIntermediateDirectories: true)
        switch use {
        case .models: try await month.models()
        case .list: try await month.list()
        case .machines: try await month.machines()
        case .laptop: try await month.laptop()
        }
        return month.report.withLock { report in
            let waits = month.clock.waits
            (report.waited, report.longestWait) = (waits.total / .seconds(1), waits.longest / .seconds(1))
            return report
        }
    }

    func number(_ range: ClosedRange<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
    func happens(_ percent: Int) -> Bool { random.withLock { $0.happens(percent) } }
    func change(_ body: (inout Report) -> Void) { report.withLock { body(&$0) } }

    /// Takes over what a server has counted.
    func add(_ server: MonthServer) {
        var seconds: [Int64: Int] = [:]
        for time in server.times { seconds[time.components.seconds, default: 0] += 1 }
        change { report in
            report.sent += server.sent
            report.burst = max(report.burst, seconds.values.max() ?? 0)
        }
    }

    func open(_ name: String = "store") async throws -> DownloadStore {
        try await DownloadStore.open(at: folder[name])
    }

    /// Runs a download until it ends, and checks what it delivers.
    ///
    /// - Returns: Whether the file was delivered or is in place.
    @discardableResult
    func run(
        _ request: DownloadRequest, expecting content: ArraySlice<UInt8>, with downloader: Downloader
    ) async -> Bool {
        var request = request
        request.waitClock = clock.storeClock
        do {
            let result = try await downloader.download(request) { [self] event in
                switch event {
                case .restarted(let reason, _), .retrying(let reason, _), .damaged(let reason):
                    change { $0.said[reason.code.rawValue, default: 0] += 1 }
                default: break
                }
            }
            let bytes = try Files.bytes(result.path)
            let isRight = Version(bytes: Array(content)).isWhole(bytes)
            change { report in
                if !isRight {
                    report.wrong.append("\(request.destination): \(bytes.count) bytes that are not the file")
                }
                if !result.isExisting { report.delivered += 1 }
            }
            return true
        } catch {
            let code = (error as? DownloadError)?.reason.code.rawValue ?? "\(error)"
            change { report in
                report.failures += 1
                report.said[code, default: 0] += 1
            }
            return false
        }
    }
}
