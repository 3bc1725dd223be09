import ResumeCurl
import ResumeFiles
import ResumeHTTP

extension ConnectionOptions {
    /// Returns the configuration of a transport with these options, and the variables that curl also reads.
    ///
    /// - Throws: ``CommandFailure`` if a file or a proxy cannot be used.
    func configuration(_ environment: [String: String]) throws -> CurlTransport.Configuration {
        let files = [cacert, certificate?.file].compactMap(\.self)
        if let file = files.first(where: { !CurlTransport.hasCertificates(at: $0) }) {
            let reason = Folder.isThere(file, R_OK) ? "contains no certificates in PEM format" : "cannot be read"
            throw CommandFailure(.notFound, "\(file) \(reason)")
        }
        if let proxy, !proxy.isEmpty, ProxySettings.proxy(proxy) == nil {
            throw CommandFailure(.usage, "\(ProxySettings.problem(of: "--proxy"))")
        }
        var variables = environment.filter { !$0.value.isEmpty }
        if let proxy {
            let names = "http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY".pieces(at: " ")
            for name in names { variables[name] = proxy }
        }
        var configuration = CurlTransport.Configuration(
            trustedCertificates: cacert ?? variables["SSL_CERT_FILE"], proxies: ProxySettings(environment: variables))
        if cacert == nil { configuration.trustedCertificateFolder = variables["SSL_CERT_DIR"] }
        configuration.clientCertificate = certificate
        if let pinnedKey, !pinnedKey.hasPrefix("sha256//"), unsafe access(pinnedKey, R_OK) != 0 {
            throw CommandFailure(.notFound, sentence("pin-unreadable", pinnedKey))
        }
        configuration.pinnedKey = pinnedKey
        configuration.newestTLS = tlsMax
        configuration.permitsOldTLS = usesOldTLS
        configuration.authentication = usesDigest ? .digest : usesAnyMethod ? .any : .basic
        configuration.verifiesServers = !insecure
        configuration.addresses = choice
        configuration.localInterface = localInterface
        return configuration
    }

    /// The certificate of --cert, whose password follows a colon; a backslash comes before colons in the name.
    var certificate: CurlTransport.ClientCertificate? {
        cert.map { text in
            let isName = Folder.isThere(text)
            let parts = isName ? nil : text.wholeMatch(of: /((?:\\.|[^:\\])*)(?::(.*))?/)
            let file = parts.map { $0.1.replacing(/\\(.)/) { $0.1 } }
            // Without a password, OpenSSL would ask for one in the terminal.
            return CurlTransport.ClientCertificate(
                file: file.map(String.init) ?? text, keyFile: privateKey, password: String(parts?.2 ?? ""))
        }
    }
}
