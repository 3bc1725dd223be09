import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// A folder that cannot be synced while several downloads are delivered into it.
@Suite(.enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(5)))
struct FolderSyncTests {
    @Test(
        "A failed sync is reported to all files it may affect, and their bytes stay", arguments: [1, 2])
    func failure(number: Int) async throws {
        // Too long to be delivered together with others.
        let file = Resource(Content(length: 1_500_000, seed: 1), etag: "\"v1\"")
        try await TemporaryFolder.with { folder in
            try FileManager.default.createDirectory(atPath: folder["out"], withIntermediateDirectories: true)
            try await OriginServer.withServer(handler: { .file(file, for: $0) }) { server in
                // The system reports such an error once; the next sync of the folder succeeds.
                let shim = try await FaultShim.environment(
                    roots: [folder.path], rules: "fsync@/out:hold=\(folder["gate"]):1;fsync@/out:error=EIO:\(number)")
                let environment = Resumectl(folder: folder).environment.merging(["no_proxy": "127.0.0.1"]) { $1 }
                let urls = (0..<6).map { "\(server.baseURL)/\($0)" }
                let get = ["get", "--retries", "0", "--max-concurrent", "6", "--directory", folder["out"]] + urls
                async let run = Shell.outcome(Resumectl.path, get, environment: environment.merging(shim) { $1 })
                // The first sync, or the shared one, fails when all of them have their names, so that the others wait
                // for it.
                let names = { (try? Files.names(in: folder["out"]).count { !$0.hasPrefix(".") }) ?? 0 }
                try await wait { names() == 6 }
                try Files.write([], to: folder["gate"])
                let failed = try await run
                #expect(failed.status != 0)
                let list = try await Shell.outcome(Resumectl.path, ["list", "--json"], environment: environment)
                let held = list.output.split(separator: "\n").count { $0.contains("\"receivedBytes\":1500000") }
                #expect(held >= 2, "\(list.output)\(failed.errors)")
                let again = try await Shell.outcome(Resumectl.path, get, environment: environment)
                #expect(again.status == 0, "\(again.errors)")
                for number in 0..<6 {
                    #expect(try Files.bytes(folder["out/\(number)"]) == file.bytes)
                }
            }
        }
    }
}
