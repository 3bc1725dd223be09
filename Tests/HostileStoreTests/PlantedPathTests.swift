import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Paths and destinations of rows that lead where they should not.
@Suite(.timeLimit(.minutes(20)))
struct PlantedPathTests {
    @Test("One blob under two entries: whoever comes second gets the bytes of its own file")
    func sharedBlob() async throws {
        let other = Content(length: 300_000, seed: 8)
        let otherBytes = other.bytes(in: other.all)
        // The same entity tag, so that nothing but the bytes tells them apart.
        let handler: @Sendable (OriginRequest) -> Response = { request in
            .file(request.path == "/b" ? Resource(other, etag: "\"v1\"") : Victim.resource, for: request)
        }
        for first in ["a", "b"] {
            try await OriginServer.withServer(handler: handler) { server in
                try await Victim.with { victim in
                    try await victim.sql(
                        """
                        UPDATE chunk SET path = (SELECT path FROM chunk JOIN download ON id = download WHERE key = 'a')
                        """)
                    for key in first == "a" ? ["a", "b"] : ["b", "a"] {
                        let outcome = try await victim.run(
                            ["get", "\(server.baseURL)/\(key)", "--key", key, "-o", victim.folder[key], "--quiet"])
                        #expect(outcome.status == 0, "\(key): \(outcome.errors)")
                    }
                    let (a, b) = (try Files.bytes(victim.folder["a"]), try Files.bytes(victim.folder["b"]))
                    #expect(a == Victim.bytes)
                    #expect(b == otherBytes)
                    // The blob that no row named any more.
                    #expect(try await victim.run(["gc"]).status == 0)
                    #expect(try await victim.run(["verify"]).status == 0)
                }
            }
        }
    }

    @Test("A destination in a row is nowhere written to, nor is anything of that name removed")
    func destination() async throws {
        try await OriginServer.withServer(handler: { .file(Victim.resource, for: $0) }) { server in
            for state in ["partial", "complete"] {
                try await Victim.with { victim in
                    for key in ["a", "b"] {
                        try await victim.sql(
                            """
                            UPDATE download SET destination = '\(victim.outsideFile)', state = '\(state)'
                            WHERE key = '\(key)'
                            """)
                    }
                    let before = try victim.outside()
                    for command in [["verify"], ["doctor"], ["gc"], ["gc", "--max-size", "250000"]] {
                        _ = try await victim.run(command)
                        #expect(try victim.outside() == before, "\(state) \(command)")
                    }
                    let url = "\(server.baseURL)/b"
                    let get = try await victim.run(["get", url, "--key", "b", "-o", victim.folder["out"], "--quiet"])
                    #expect(get.status == 0, "\(get.errors)")
                    let delivered = try Files.bytes(victim.folder["out"])
                    #expect(delivered == Victim.bytes)
                    _ = try await victim.run(["purge", "--all"])
                    #expect(try victim.outside() == before, "\(state)")
                }
            }
        }
    }
}
