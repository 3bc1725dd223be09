import FaultInjection
import OriginServer
import TestSupport
import Testing

/// File systems without a rename that refuses to replace a file, such as NFS.
@Suite(.enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(5)))
struct RenameTests {
    @Test("A link does not replace another file either, and leaves no extra link behind")
    func secondName() async throws {
        try await Self.withServer { folder, get in
            let outcome = try await get("rename:error=EINVAL")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try Files.bytes(folder["out/called"]) == Self.file.bytes)
            #expect(try Files.names(in: folder["out"]) == ["called"])
        }
    }

    @Test("A file that another program creates during the download is kept", arguments: ["", "rename:error=EINVAL"])
    func madeMeanwhile(rules: String) async throws {
        try await Self.withServer(cutting: true) { folder, get in
            let outcome = try await get(rules)
            #expect(outcome.status == 73 && outcome.errors.contains("already exists"), "\(outcome.errors)")
            #expect(try Files.bytes(folder["out/called"]) == [1])
            #expect(try Files.names(in: folder["out"]) == ["called"])
        }
    }

    @Test("Without links it fails, and partial data is kept")
    func neither() async throws {
        try await Self.withServer { folder, get in
            let failed = try await get("rename:error=EINVAL;link:error=EPERM")
            #expect(failed.status == 73, "\(failed.errors)")
            #expect(try Files.names(in: folder["out"]).isEmpty)
            let again = try await get("")
            #expect(again.status == 0, "\(again.errors)")
            #expect(try Files.bytes(folder["out/called"]) == Self.file.bytes)
        }
    }

    @Test(
        "What the user has named to be replaced is replaced by resume if the delivery failed",
        arguments: [1_500_000, 5000] as [Int64])
    func permission(length: Int64) async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["out"])
            try Files.write([1], to: folder["out/mine"])
            let served = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
            try await OriginServer.withServer {
                .file(served, for: $0)
            } _: { server async throws in
                let run = { (arguments: [String], rules: String) in
                    let shim = try await FaultShim.environment(roots: [folder["out"]], rules: rules)
                    let environment = Resumectl(folder: folder).environment.merging(["no_proxy": "127.0.0.1"]) { $1 }
                    return try await Shell.outcome(
                        Resumectl.path, arguments, environment: environment.merging(shim) { $1 })
                }
                let get = ["get", "-o", folder["out/mine"], "\(server.baseURL)/file"]
                let failed = try await run(get, "rename:error=EPERM")
                #expect(failed.status != 0, "\(failed.errors)")
                #expect(try Files.bytes(folder["out/mine"]) == [1])
                let again = try await run(["resume"], "")
                #expect(again.status == 0, "\(again.errors)")
                #expect(try Files.bytes(folder["out/mine"]) == served.bytes)
            }
        }
    }

    private static let file = {
        var file = Resource(Content(length: 1_500_000, seed: 1), etag: "\"v1\"")
        file.extraFields = [("Content-Disposition", "attachment; filename=called")]
        return file
    }()

    /// Runs a test with an origin whose first answer may be cut, with a file created before the second one.
    private static func withServer(
        cutting: Bool = false,
        _ body: (TemporaryFolder, _ get: (String) async throws -> Shell.Outcome) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["out"])
            try await OriginServer.withServer { request in
                if cutting, request.number == 2 { try? Files.write([1], to: folder["out/called"]) }
                return .file(file, for: request, cutAfter: cutting && request.number == 1 ? 1_000_000 : nil)
            } _: { server async throws in
                try await body(folder) { rules in
                    let shim = try await FaultShim.environment(roots: [folder["out"]], rules: rules)
                    let environment = Resumectl(folder: folder).environment.merging(["no_proxy": "127.0.0.1"]) { $1 }
                    return try await Shell.outcome(
                        Resumectl.path, ["get", "-J", "--directory", folder["out"], "\(server.baseURL)/file"],
                        environment: environment.merging(shim) { $1 })
                }
            }
        }
    }
}
