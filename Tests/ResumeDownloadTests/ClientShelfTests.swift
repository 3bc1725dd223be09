import HTTPTypes
import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import TestSupport
import Testing

/// The HTTP clients of a transport, of which hosts with chosen addresses need one each.
@Suite(.timeLimit(.minutes(5)), .enabled(if: TransportKind.current != .urlSession))
struct ClientShelfTests {
    @Test("Clients without requests are closed beyond the number of connections; others are kept, and used again")
    func bound() async throws {
        try await OriginServer.withServer(handler: { _ in .status("200 OK", body: [1, 2, 3]) }) { server in
            let hosts = (0..<12).map { "host\($0).invalid" }
            var configuration = AsyncHTTPTransport.Configuration(
                connectTimeout: Engine.patience, threads: 1, connectionsPerHost: 5)
            configuration.addresses = AddressChoice(
                fixed: Dictionary(uniqueKeysWithValues: hosts.map { ("\($0):\(server.port)", ["127.0.0.1"]) }))
            let transport = AsyncHTTPTransport(configuration)
            do {
                func send(to host: String) async throws -> TransportResponse {
                    try await transport.send(
                        HTTPRequest(
                            method: .get, scheme: "http", authority: "\(host):\(server.port)", path: "/"))
                }
                // All of them are in use.
                var responses: [TransportResponse] = []
                for host in hosts { responses.append(try await send(to: host)) }
                for response in responses { while try await response.body.read({ _ in true }) {} }
                try await wait(for: "the clients to be closed") { transport.clientCount == 5 }
                let connections = server.requests.map(\.connection)
                // The last ones are still connected, and the first one is connected again.
                for host in hosts.suffix(5) + hosts.prefix(1) {
                    let response = try await send(to: host)
                    while try await response.body.read({ _ in true }) {}
                }
                try await wait(for: "a client to be closed") { transport.clientCount == 5 }
                let later = server.requests.dropFirst(12).map(\.connection)
                #expect(Array(later.prefix(5)) == connections.suffix(5) && !connections.contains(later[5]))
                try await transport.shutdown()
            } catch {
                try await transport.shutdown()
                throw error
            }
        }
    }
}
