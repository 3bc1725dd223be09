internal import ResumeHTTP

/// What requests must have in common to use the same connections.
struct Way: Hashable {
    let route: Route
    let isSecure: Bool
    /// The only origin of a client whose connections start with ``SecureStart``.
    let origin: String?
    /// The address to connect to in place of that of the host, which is then the only one of a client.
    let address: ChosenAddress?

    init(to url: DownloadURL, _ proxies: ProxySettings, at address: ChosenAddress?, usesHTTP2: Bool) {
        route = Route(to: url, proxies)
        isSecure = url.scheme == "https"
        origin = isSecure && (usesHTTP2 || route.isTunnel) ? url.origin : nil
        self.address = address
    }
}
