import OriginServer
import ResumeDownload
import Scenarios
import TestSupport
import Testing

/// A redirector that may lead elsewhere the next time.
@Suite(.timeLimit(.minutes(10)))
struct SettledAddressTests {
    @Test("A10: a run stays with the address that answered first, and a later run asks the redirector again")
    func stays() async throws {
        let mirror: Origin.Handler = { .file(.old, for: $0, cutAfter: $0.number == 1 ? 60_000 : nil) }
        try await OriginServer.withServer(handler: mirror) { first in
            try await OriginServer.withServer(handler: { .file(.new, for: $0) }) { second in
                let targets = [first.baseURL, second.baseURL]
                try await Origin.with({ request in
                    .status("302 Found", fields: [("Location", targets[(request.number - 1) % 2] + "/file")])
                }) { origin in
                    let result = try await origin.get(.old)
                    #expect(result.fetchedBytes < 110_000)
                    #expect(origin.server.requests.count == 1)
                    #expect(first.requests.count == 2)
                    #expect(second.requests.isEmpty)
                    _ = try await origin.get()
                    #expect(origin.server.requests.count == 2)
                    #expect(second.requests.count == 1)
                }
            }
        }
    }

    @Test(
        "An address that refuses is left, and the redirector is asked again", arguments: ["403 Forbidden", "410 Gone"])
    func expired(status: String) async throws {
        let mirror: Origin.Handler = { request in
            request.number == 2
                ? .status(status) : .file(.old, for: request, cutAfter: request.number == 1 ? 60_000 : nil)
        }
        try await OriginServer.withServer(handler: mirror) { first in
            try await Origin.with({ _ in
                .status("302 Found", fields: [("Location", first.baseURL + "/file")])
            }) { origin in
                try await origin.get(.old)
                #expect(origin.server.requests.count == 2)
                #expect(first.requests.count == 3)
            }
        }
    }
}
