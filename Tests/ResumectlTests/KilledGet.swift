import Foundation
import TestSupport
import Testing

/// 200 MiB from nginx by a `resumectl get` that was killed at twenty random moments, then went on to its end.
struct KilledGet {
    /// What was asked for and sent.
    let log: [(status: Int, bytes: Int, range: String)]
    /// What `list --json` showed before the last run.
    let held: String
    /// How many times the size was sent.
    let sent: Double

    private static let size = 200 << 20

    /// Has it killed, sees that it goes on, and that nothing is left behind.
    ///
    /// - Parameters:
    ///   - rate: What nginx sends in a second, to each connection anew; it sends that at once.
    ///   - options: What is said to `get` beside URL and output.
    ///   - lastOptions: What is said to the one that is not killed.
    /// - Returns: What it came to.
    /// - Throws: Where it cannot be done.
    static func run(
        rate: String, options: [String] = [], lastOptions: [String] = []
    ) async throws -> KilledGet {
        try await TemporaryFolder.with { folder in
            let content = sampleBytes(size)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(content, to: folder["www/file"])
            let nginx = try await Nginx(serving: folder["www"], rate: rate)
            let program = Resumectl(folder: folder)
            let command = ["get", nginx.url("slow/file"), "--output", folder["out"]]
            for _ in 0..<20 {
                let process = try program.start(command + options, output: folder["log"])
                try await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
                process.send(SIGKILL)
                #expect(await process.wait() == .killed(SIGKILL))
                #expect(!Files.exists(folder["out"]), "nothing appears before it is whole")
            }
            let held = try await program.run("list", "--json").output
            let last = try program.start(command + lastOptions, output: folder["log"])
            let ending = await last.wait()
            let errors = String(decoding: try Files.bytes(folder["log"]), as: UTF8.self)
            #expect(ending == .exited(0), "\(errors)")
            let log = try nginx.log()
            await nginx.stop()
            let same = try Files.bytes(folder["out"]) == content
            #expect(same)
            #expect(try await program.run("list").output.isEmpty)
            let sent = Double(log.reduce(0) { $0 + $1.bytes }) / Double(size)
            print("killed twenty times: \(log.count) requests, sent \(sent) times the size")
            return KilledGet(log: log, held: held, sent: sent)
        }
    }
}
