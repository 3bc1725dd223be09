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

    /// Numeric addresses by host and port, such as `example.org:443`.
    package var fixed: [String: String]
    /// The only version to use; nil for both.
    package var family: Family?

    /// Makes a choice.
    package init(fixed: [String: String] = [:], family: Family? = nil) {
        (self.fixed, self.family) = (fixed, family)
    }

    /// Returns the address that is chosen for the host and port of a URL; nil if none is.
    package func address(for url: DownloadURL) -> String? { fixed["\(url.host):\(url.port)"] }
}

/// The address of a host.
struct ChosenAddress: Sendable, Hashable {
    let host: String
    /// The numeric address.
    let text: String
}

/// Looks up hosts whose addresses async-http-client must not choose.
final class AddressBook: Sendable {
    private let choice: AddressChoice
    /// What the system has found, by host.
    private let found = Mutex<[String: String]>([:])

    /// Makes a book; nil if nothing is chosen.
    init?(_ choice: AddressChoice) {
        guard choice != AddressChoice() else { return nil }
        self.choice = choice
    }

    /// Returns the address to connect to for a URL; nil behind a proxy, which looks it up itself, or if any will do.
    ///
    /// - Throws: `TransportError` if the host has no address of the chosen version.
    func address(for url: DownloadURL, _ proxies: ProxySettings) async throws -> ChosenAddress? {
        guard case .direct = Route(to: url, proxies) else { return nil }
        if let address = choice.address(for: url) { return ChosenAddress(host: url.host, text: address) }
        guard let family = choice.family else { return nil }
        if let known = found.withLock({ $0[url.host] }) { return ChosenAddress(host: url.host, text: known) }
        let host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        guard let text = try await Blocking.run({ Self.lookUp(host, family) }) else {
            let version = family == .version4 ? "IPv4" : "IPv6"
            throw TransportError(.nameNotResolved, "could not resolve the host \(url.host) to an \(version) address")
        }
        found.withLock { $0[url.host] = text }
        return ChosenAddress(host: url.host, text: text)
    }

    private static func lookUp(_ host: String, _ family: AddressChoice.Family) -> String? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = family == .version4 ? AF_INET : AF_INET6
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0, let first = unsafe list else { return nil }
        defer { unsafe freeaddrinfo(first) }
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = unsafe getnameinfo(
            first.pointee.ai_addr, first.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
        guard result == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
