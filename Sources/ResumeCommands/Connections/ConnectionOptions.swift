internal import ArgumentParser
internal import ResumeAsyncHTTP
internal import ResumeFiles
internal import ResumeHTTP

/// How servers are reached, and how they must prove their identity.
struct ConnectionOptions: ParsableArguments {
    @Option(help: .hidden("Trust these certificates (PEM), not the system's.", "file"), completion: .file())
    var cacert: String?

    @Flag(name: [.customShort("k"), .long], help: "Do not verify certificates of servers.")
    var insecure = false

    @Option(
        name: [.customShort("x", allowingJoined: true), .customLong("proxy")],
        help: .hidden("Proxy, instead of that in http_proxy and so on.", "url"))
    var proxy: String?

    @Option(
        name: .customLong("resolve"),
        help: .hidden("Connect to these addresses for a host and port. May be repeated.", "host:port:address"))
    var addresses: [String] = []

    @Option(name: .customLong("interface"), help: .hidden("Connect from this network interface or address.", "name"))
    var localInterface: String?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: .hidden("Connect to IPv4 addresses only."))
    var usesIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: .hidden("Connect to IPv6 addresses only."))
    var usesIPv6 = false

    func validate() throws {
        if let proxy, proxy.allSatisfy({ ("0"..."9").contains($0) }) {
            throw ValidationError(
                "--proxy (-x) is the address of a proxy, as in curl; for several connections (aria2, axel), use "
                    + "--connections \(proxy)")
        }
        try refuse(usesIPv4 && usesIPv6, "--ipv4 (-4) and --ipv6 (-6) cannot be combined")
        try refuse(insecure && cacert != nil, "--insecure (-k) and --cacert cannot be combined")
        try require(
            addresses.allSatisfy({ Self.addresses($0) != nil }),
            "--resolve requires a host, a port and an address, such as example.org:443:192.0.2.1")
    }

    /// Parses `host:port:address`, or with several addresses that are separated by commas, into the place and these.
    private static func addresses(_ text: String) -> (String, [String])? {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let port = Int(parts[1]), let url = try? DownloadURL("https://\(parts[0]):\(port)/")
        else { return nil }
        let addresses = parts[2].split(separator: ",", omittingEmptySubsequences: false).map { part in
            String(part.hasPrefix("[") && part.hasSuffix("]") ? part.dropFirst().dropLast() : part)
        }
        return addresses.allSatisfy(NetworkInterface.isAddress) ? ("\(url.host):\(url.port)", addresses) : nil
    }

    /// The addresses to connect to.
    var choice: AddressChoice {
        AddressChoice(
            fixed: Dictionary(
                addresses.compactMap(Self.addresses), uniquingKeysWith: { $1 }),
            family: usesIPv4 ? .version4 : usesIPv6 ? .version6 : nil)
    }

    /// Returns the local address of the interface; nil if none is given.
    ///
    /// - Throws: ``CommandFailure`` if there is no such interface, or if it has no address.
    func localAddress() throws(CommandFailure) -> String? {
        guard let localInterface else { return nil }
        guard let address = NetworkInterface.address(of: localInterface, prefersIPv6: usesIPv6) else {
            throw CommandFailure(
                .usage, "there is no network interface \(Printable.escaped(localInterface)) with an address")
        }
        return address
    }

    /// Returns the environment variables with the proxy.
    func environment(_ environment: [String: String]) -> [String: String] {
        guard let proxy else { return environment }
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        return environment.merging(names.map { ($0, proxy) }) { $1 }
    }
}
