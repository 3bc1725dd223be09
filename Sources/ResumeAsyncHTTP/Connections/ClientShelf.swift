internal import AsyncHTTPClient

/// The clients of a transport by what their requests have in common, of which a limited number is kept without requests.
///
/// With chosen addresses, HTTP/2 or tunnels, each host has its own client, and a list may name any number of hosts.
struct ClientShelf: Sendable {
    private struct Item {
        let client: HTTPClient
        /// The number of responses that have not ended.
        var requests = 1
        /// When its last response ended, as a sequence number.
        var lastUse: UInt64 = 0
    }

    /// What is left to close.
    struct Rest: Sendable {
        let clients: [HTTPClient]
        /// Closes the clients that were removed before.
        let closing: Task<Void, Never>?
    }

    /// The maximum number of clients without requests; at least as many as the servers of a redirected download.
    private let mostIdle: Int
    private var items: [Way: Item] = [:]
    private var uses: UInt64 = 0
    private var closing: Task<Void, Never>?

    init(mostIdle: Int) { self.mostIdle = max(mostIdle, 4) }

    /// The number of clients.
    var count: Int { items.count }

    /// Returns the client for a request; nil if there is none yet.
    mutating func take(_ way: Way) -> HTTPClient? {
        items[way]?.requests += 1
        return items[way]?.client
    }

    /// Adds the client of a first request.
    mutating func add(_ client: HTTPClient, _ way: Way) { items[way] = Item(client: client) }

    /// Records that a response has ended; if too many clients have no request, closes the least recently used one.
    mutating func putBack(_ way: Way) {
        uses += 1
        items[way]?.requests -= 1
        items[way]?.lastUse = uses
        guard items.count > mostIdle else { return }
        let idle = items.filter { $0.value.requests == 0 }
        guard idle.count > mostIdle, let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        items[oldest.key] = nil
        closing = Task { [closing, client = oldest.value.client] in
            await closing?.value
            // All of its requests have ended.
            try? await client.shutdown()
        }
    }

    /// Removes all clients, which the caller closes.
    mutating func removeAll() -> Rest {
        defer { items = [:] }
        return Rest(clients: items.values.map(\.client), closing: closing)
    }
}
