import Foundation
import OriginServer
import TestSupport
import Testing

/// A month of builds that download the same files each day.
@Suite(.timeLimit(.minutes(10)))
struct BuildMonthTests {
    private static let files = ["/tools.tar.gz": 40_000, "/image.iso": 400_000, "/model.bin": 1_500_000]

    /// A file changes each week.
    private static func resource(_ path: String, on day: Int) -> Resource {
        let (length, week) = (files[path] ?? 1, day / 7)
        let content = Content(length: Int64(length), seed: UInt64(length + week))
        return Resource(content, etag: "\"\(length)-\(week)\"")
    }

    private struct Run {
        var sent: Int64 = 0
        var needed: Int64 = 0
        var failures: [String] = []
        var isCut = 0

        var multiple: Double { Double(sent) / Double(max(needed, 1)) }
    }

    /// How the runner of a build keeps its store.
    enum Keeping: String, CaseIterable { case fresh, restored }

    @Test("Builds with a fresh store, and with one restored from an archive", arguments: Keeping.allCases)
    func builds(keeping: Keeping) async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            var run = Run()
            try await OriginServer.withServer(handler: { _ in .status("503 Unavailable") }) { server in
                for day in 0..<30 {
                    // On some days the connection is cut, and the build fails.
                    let isCut = day % 5 == 3
                    server.setHandler { request in
                        let cut = isCut && request.path == "/model.bin" ? 900_000 as Int64 : nil
                        return .file(Self.resource(request.path, on: day), for: request, cutAfter: cut)
                    }
                    try? FileManager.default.removeItem(atPath: folder["workspace"])
                    try? FileManager.default.removeItem(atPath: folder["store"])
                    if keeping == .restored, Files.exists(folder["archive"]) {
                        // Other inodes and times of change, the same bytes.
                        try await Shell.run("cp", "-a", folder["archive"], folder["store"])
                    }
                    let urls = Self.files.keys.sorted().map { server.baseURL + $0 }
                    let before = server.bodyBytesSent
                    let outcome = try await Shell.outcome(
                        Resumectl.path, ["get", "-P", folder["workspace"], "--retries", "0"] + urls,
                        environment: program.environment)
                    run.sent += server.bodyBytesSent - before
                    run.isCut += isCut ? 1 : 0
                    if outcome.status != (isCut ? 75 : 0) { run.failures.append("day \(day): \(outcome.errors)") }
                    for (path, length) in Self.files {
                        if isCut, path == "/model.bin" { continue }
                        let bytes = try Files.bytes(folder["workspace"] + path)
                        if !Self.resource(path, on: day).content.matches(bytes) { run.failures.append("\(day)\(path)") }
                        run.needed += Int64(length)
                    }
                    try? FileManager.default.removeItem(atPath: folder["archive"])
                    try await Shell.run("cp", "-a", folder["store"], folder["archive"])
                }
            }
            #expect(run.failures.isEmpty && run.isCut == 6, "\(run)")
            print("\(keeping): sent \(run.multiple) times the bytes, \(run.isCut) builds were cut")
            // A fresh store loses what was received before a cut.
            #expect(run.multiple < (keeping == .fresh ? 1.12 : 1.03), "\(run.multiple)")
        }
    }

    @Test("A file of an earlier build stays, whatever became of the store, if the server has the same")
    func keptWorkspace() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            try await OriginServer.withServer(handler: { .file(Self.resource($0.path, on: 0), for: $0) }) { server in
                let url = server.baseURL + "/image.iso"
                for _ in 0..<3 {
                    let outcome = try await program.run("get", "-P", folder["workspace"], url)
                    #expect(outcome.status == 0, "\(outcome.errors)")
                    try FileManager.default.removeItem(atPath: folder["store"])
                }
            }
        }
    }
}
