#if os(Linux)
import Foundation
import OriginServer
import TestSupport
import Testing

/// No program that a process starts beside a download gets a descriptor of it.
@Suite(.timeLimit(.minutes(20)))
struct DescriptorTests {
    @Test("Midway through a download each descriptor that leads to a file, and each event's, is close-on-exec")
    func closedOnExec() async throws {
        try await TemporaryFolder.with { folder in
            try await RunningGet.with(folder, url: { $0.baseURL + "/a" }) { process in
                let place = "/proc/\(process.processIdentifier)"
                var targets: [String] = []
                for name in try Files.names(in: "\(place)/fdinfo") where !["0", "1", "2"].contains(name) {
                    guard
                        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/fd/\(name)"),
                        let info = try? String(contentsOfFile: "\(place)/fdinfo/\(name)", encoding: .utf8)
                    else { continue }
                    let line = info.split(separator: "\n").first { $0.hasPrefix("flags:") }
                    let flags = line?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0, radix: 8) }
                    targets.append(target)
                    // SwiftNIO makes these without the flag (2.100) and gives no access to them. They lead to no file.
                    if target.hasPrefix("socket:") || target.contains("eventpoll") { continue }
                    #expect((flags ?? 0) & 0o2000000 != 0, "\(name) \(target)")
                }
                // The look must have found what there is.
                for part in [
                    "store.sqlite", "store.sqlite-wal", "lock", "leases", "waiters", "blobs/", "eventfd", "timerfd",
                ] {
                    #expect(targets.contains { $0.contains(part) }, "\(part) in \(targets)")
                }
            }
        }
    }
}
#endif
