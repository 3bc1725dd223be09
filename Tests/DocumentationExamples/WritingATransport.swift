import Resume

// SNIPPET
/// Sends the requests of the engine with a client of the program.
struct ClientTransport<Sender: Client>: Transport {
    let client: Sender

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        do {
            let (head, body) = try await client.send(request)
            return TransportResponse(head: head, body: body)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw TransportError(.notConnected, "\(request.authority ?? "the server"): \(error)")
        }
    }
}
// END
