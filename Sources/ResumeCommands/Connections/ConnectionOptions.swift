import ArgumentParser
import ResumeCurl
import ResumeHTTP

/// How servers are reached, and how they must prove their identity.
struct ConnectionOptions: ParsableArguments {
    @Option("cacert", completion: .file()) var cacert: String?
    @Flag("k insecure") var insecure = false
    @Option("x proxy") var proxy: String?
    @Option("socks5-hostname") var socksProxy: String?
    @Option("E cert", completion: .file()) var cert: String?
    @Option("private-key", completion: .file()) var privateKey: String?
    @Option("tls-max", transform: { try CurlTransport.TLSVersion(rawValue: $0).orRefuse("use 1.2 or 1.3") }) var tlsMax:
        CurlTransport.TLSVersion?
    @Flag("tls-old tlsv1.0") var usesOldTLS = false
    @Flag("digest") var usesDigest = false
    @Flag("anyauth") var usesAnyMethod = false
    @Option("resolve") var addresses: [String] = []
    @Option("connect-to") var routes: [String] = []
    @Option("pinnedpubkey") var pinnedKey: String?
    @Option("interface") var localInterface: String?
    @Flag("4 ipv4") var usesIPv4 = false
    @Flag("6 ipv6") var usesIPv6 = false

    mutating func validate() throws {
        if let proxy, !proxy.isEmpty, proxy.allSatisfy({ ("0"..."9").contains($0) }) {
            throw ValidationError(sentence("numeric-proxy", proxy))
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
        try require(addresses.allSatisfy({ Self.addresses($0) != nil }), sentence("bad-resolve"))
        try require(routes.allSatisfy(Self.isRoute), sentence("bad-route"))
    }

    /// Parses `host:port:address`, or with several addresses that are separated by commas, into the place and these.
    private static func addresses(_ text: String) -> (String, [String])? {
        let parts = text.parts(at: ":", most: 2)
        guard parts.count == 3, let port = Int(parts[1]),
            let url = try? DownloadURL("https://\(parts[0]):\(port)/")
        else { return nil }
        let addresses = parts[2].parts(at: ",").map { part in
            String(part.hasPrefix("[") && part.hasSuffix("]") ? part.dropFirst().dropLast() : part)
        }
        return addresses.allSatisfy(PublicAddress.isAddress) ? ("\(url.host):\(url.port)", addresses) : nil
    }

    /// Whether a text is `host:port:host:port`, of which any part may be empty.
    private static func isRoute(_ text: String) -> Bool {
        let route =
            #/
            (\[[0-9A-Fa-f:.]+\] | [-.\w]*)
            : \d{0,5} :
            (\[[0-9A-Fa-f:.]+\] | [-.\w]*)
            : \d{0,5}
            /#
        return text.wholeMatch(of: route) != nil
    }

    /// The addresses to connect to.
    var choice: CurlTransport.AddressChoice {
        CurlTransport.AddressChoice(
            fixed: Dictionary(addresses.compactMap(Self.addresses), uniquingKeysWith: { $1 }),
            family: usesIPv4 ? .version4 : usesIPv6 ? .version6 : nil,
            routes: routes)
    }
}
