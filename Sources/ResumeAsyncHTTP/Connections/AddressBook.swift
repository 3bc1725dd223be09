internal import ResumeDownload
internal import ResumeFiles
package import ResumeHTTP
internal import Synchronization

/// Which addresses the hosts of URLs are connected to.
package struct AddressChoice: Sendable, Hashable {
    /// A version of the Internet Protocol.
    package enum Family: Sendable {
        case version4, version6
    }

    /// Numeric addresses by host and port, such as `example.org:443`, in the order in which they are tried.
    package var fixed: [String: [String]]
    /// The only version to use; nil for both.
    package var family: Family?

    /// Makes a choice.
    package init(fixed: [String: [String]] = [:], family: Family? = nil) {
        self.fixed = fixed
        self.family = family
    }

    /// Returns the addresses that are chosen for the host and port of a URL; nil if none are.
    package func addresses(for url: DownloadURL) -> [String]? { fixed["\(url.host):\(url.port)"] }
}

/// An address of a host.
struct ChosenAddress: Sendable, Hashable {
    let host: String
    /// The numeric address.
    let text: String
    /// The number of addresses that are tried, which share the time to connect.
    let count: Int
}

/// Looks up hosts whose addresses async-http-client must not choose.
final class AddressBook: Sendable {
    private let choice: AddressChoice
    /// The addresses by host and port; the one that was connected to last is the first.
    private let known = Mutex<[String: [String]]>([:])

    /// Makes a book; nil if nothing is chosen.
    init?(_ choice: AddressChoice) {
        guard choice != AddressChoice() else { return nil }
        self.choice = choice
    }

    /// Calls a body with the addresses of a URL's host, until it can connect to one of them.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - proxies: The proxies; a proxy looks up the host itself.
    ///   - body: Receives the address to connect to; nil if any will do.
    /// - Returns: The result of the body.
    /// - Throws: The errors of the body; for `notConnected`, that of the last address. `TransportError` if the host has
    ///   no address of the chosen version.
    func connecting<Result: Sendable>(
        to url: DownloadURL, _ proxies: ProxySettings, _ body: (ChosenAddress?) async throws -> Result
    ) async throws -> Result {
        guard case .direct = Route(to: url, proxies), let addresses = try await addresses(for: url) else {
            return try await body(nil)
        }
        let place = "\(url.host):\(url.port)"
        var failure = TransportError(.nameNotResolved, "could not resolve the host \(url.host)")
        for address in addresses {
            do {
                let result = try await body(ChosenAddress(host: url.host, text: address, count: addresses.count))
                known.withLock { $0[place] = [address] + addresses.filter { $0 != address } }
                return result
            } catch let error as TransportError where error.code == .notConnected {
                failure = error
            }
        }
        // The network may have changed.
        known.withLock { $0[place] = nil }
        throw failure
    }

    /// Returns the addresses of a URL's host in the order in which they are tried; nil if any will do.
    private func addresses(for url: DownloadURL) async throws -> [String]? {
        if let found = known.withLock({ $0["\(url.host):\(url.port)"] }) { return found }
        if let fixed = choice.addresses(for: url) { return fixed }
        guard let family = choice.family else { return nil }
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        let found = try await Blocking.run { Self.lookUp(host, family) }
        guard found.isEmpty else { return found }
        let version = family == .version4 ? "IPv4" : "IPv6"
        throw TransportError(.nameNotResolved, "could not resolve the host \(url.host) to an \(version) address")
    }

    private static func lookUp(_ host: String, _ family: AddressChoice.Family) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = family == .version4 ? AF_INET : AF_INET6
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0, let first = unsafe list else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var found: [String] = []
        var next: UnsafeMutablePointer<addrinfo>? = unsafe first
        while let entry = unsafe next {
            unsafe next = entry.pointee.ai_next
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = unsafe getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // The system lists each address once for each kind of socket.
            if result == 0, !found.contains(text) { found.append(text) }
        }
        return found
    }
}
