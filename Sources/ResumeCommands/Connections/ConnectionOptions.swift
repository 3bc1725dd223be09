import ArgumentParser
import ResumeCurl
import ResumeHTTP

/// How servers are reached, and how they must prove their identity.
struct ConnectionOptions: ParsableArguments {
    @Option(help: .hidden("Trust these certificates (PEM), not the system's.", "file"), completion: .file())
    var cacert: String?

    @Flag(name: .flag("k insecure"), help: "Do not verify certificates of servers.")
    var insecure = false

    @Option(name: .option("x proxy"), help: .hidden("Proxy, instead of that in http_proxy and so on.", "url"))
    var proxy: String?

    @Option(name: .customLong("socks5-hostname"), help: .hidden("SOCKS 5 proxy that resolves names.", "host:port"))
    var socksProxy: String?

    @Option(
        name: .option("E cert"),
        help: .hidden("Certificate of the client and its key (PEM).", "file[:password]"), completion: .file())
    var cert: String?

    @Option(help: .hidden("Key of --cert, if it is in another file.", "file"), completion: .file())
    var privateKey: String?

    @Option(
        help: .hidden("Newest version of TLS.", "1.2|1.3"),
        transform: { try TLSVersion(rawValue: $0).orRefuse("use 1.2 or 1.3") })
    var tlsMax: TLSVersion?

    @Flag(
        name: .flag("tls-old tlsv1.0"),
        help: .hidden("Also accept TLS 1.0 and short keys, for old devices."))
    var usesOldTLS = false

    @Flag(name: .customLong("digest"), help: .hidden("Never send the password itself (Digest)."))
    var usesDigest = false

    @Flag(name: .customLong("anyauth"), help: .hidden("Send the password by the best method of the server."))
    var usesAnyMethod = false

    @Option(
        name: .customLong("resolve"),
        help: .hidden("Connect to these addresses for a host and port. May be repeated.", "host:port:address"))
    var addresses: [String] = []

    @Option(name: .customLong("interface"), help: .hidden("Connect from this network interface or address.", "name"))
    var localInterface: String?

    @Flag(name: .flag("4 ipv4"), help: .hidden("Connect to IPv4 addresses only."))
    var usesIPv4 = false

    @Flag(name: .flag("6 ipv6"), help: .hidden("Connect to IPv6 addresses only."))
    var usesIPv6 = false

    mutating func validate() throws {
        if let proxy, !proxy.isEmpty, proxy.allSatisfy({ ("0"..."9").contains($0) }) {
            throw ValidationError(
                "--proxy (-x) is the address of a proxy, as in curl; for several connections (aria2, axel), use "
                    + "--connections \(proxy)")
        }
        try exclude(proxy != nil && socksProxy != nil, "--proxy and --socks5-hostname")
        if let host = socksProxy {
            proxy = "socks5h://\(host)"
            socksProxy = nil
        }
        try exclude(usesDigest && usesAnyMethod, "--digest and --anyauth")
        try refuse(privateKey != nil && cert == nil, "--private-key requires --cert")
        try exclude(usesIPv4 && usesIPv6, "--ipv4 (-4) and --ipv6 (-6)")
        try exclude(insecure && cacert != nil, "--insecure (-k) and --cacert")
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
        return addresses.allSatisfy(PublicAddress.isAddress) ? ("\(url.host):\(url.port)", addresses) : nil
    }

    /// The addresses to connect to.
    var choice: AddressChoice {
        AddressChoice(
            fixed: Dictionary(addresses.compactMap(Self.addresses), uniquingKeysWith: { $1 }),
            family: usesIPv4 ? .version4 : usesIPv6 ? .version6 : nil)
    }
}
