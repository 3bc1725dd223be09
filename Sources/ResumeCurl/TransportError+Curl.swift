import CResumeCurl
import ResumeDownload
import ResumeFiles
import ResumeHTTP

extension TransportError {
    /// Maps the result of a failed transfer to a code and a message, by the numbers of libcurl and of OpenSSL.
    init(_ result: CURLcode, of reception: Reception) {
        let exchange = reception.exchange
        let settings = reception.settings
        let isEstablished = reception.isEstablished
        let (handle, text) = unsafe (reception.handle, String(cString: reception.curl.text))
        let authority = exchange.authority
        let failed = "could not connect to \(authority)"
        let status = unsafe Self.number(CURLINFO_HTTP_CONNECTCODE, handle)
        switch result {
        case CURLE_COULDNT_CONNECT where settings.addresses.excludes(exchange.url.host) && exchange.proxy == nil:
            self.init(.invalidRequest, sentence("address-version", failed))
        case CURLE_COULDNT_RESOLVE_HOST where exchange.proxy?.resolvesNames != true:
            self.init(.nameNotResolved, "could not resolve the host \(exchange.url.host)")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.nameNotResolved, sentence("proxy-unknown", exchange.proxy?.authority ?? ""))
        case CURLE_OPERATION_TIMEDOUT where !isEstablished:
            self.init(.notConnected, "timed out while connecting to \(authority)")
        case _ where status == 407 && !isEstablished:
            self.init(.proxyRefused, sentence("proxy-credentials", failed))
        case CURLE_PROXY where unsafe !Self.refusals.contains(Self.number(CURLINFO_PROXY_ERROR, handle)):
            self.init(.notConnected, failed)
        case _ where status >= 300 && !isEstablished, CURLE_PROXY:
            self.init(.proxyRefused, "\(failed): the proxy refused the request")
        case CURLE_COULDNT_CONNECT:
            let number = Int32(clamping: unsafe Self.number(CURLINFO_OS_ERRNO, handle))
            self.init(.notConnected, number == 0 ? failed : "\(failed): \(SystemError.reason(number))")
        case CURLE_INTERFACE_FAILED:
            let place = Printable.escaped(settings.localInterface ?? "")
            self.init(.invalidRequest, sentence("bad-interface", failed, place))
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            let number = unsafe Self.number(CURLINFO_SSL_VERIFYRESULT, handle)
            self.init(.tls, Self.distrust(result, number, of: reception))
            // Another authority does not help a certificate that is not valid yet, or has expired.
            isUntrusted = result != CURLE_SSL_CACERT_BADFILE && number != 9 && number != 10
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self.init(.tls, sentence("not-pinned", authority))
        case CURLE_SSL_CERTPROBLEM:
            self.init(.tls, sentence("bad-certificate"))
        // With TLS 1.3 a server refuses the client's certificate after the handshake.
        case CURLE_RECV_ERROR where Self.refusalsOfClient.contains(Self.reason(in: text) ?? 0),
            CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
            self = Self.handshake(authority, Self.reason(in: text))
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_FUNCTION_ARGUMENT:
            self = .invalid("it is not HTTP", from: authority)
        case CURLE_OUT_OF_MEMORY:
            self = .invalid("a line of the header is too long", from: authority)
        case CURLE_HTTP2_STREAM where !reception.hasHead && text.contains("PROTOCOL_ERROR"):
            self = .invalid("it breaks a rule of HTTP/2", from: authority)
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3:
            self.init(.connectionClosed, sentence("response-cut", authority))
        case CURLE_RECV_ERROR where !isEstablished && text.contains("CONNECT") && text.contains("response"):
            self = .invalid("the answer of the proxy is not valid", from: authority)
        case CURLE_RECV_ERROR where text.contains("chunk"):
            self = .invalid("a chunk's header is not valid", from: authority)
        case CURLE_BAD_CONTENT_ENCODING:
            self = .invalid("the transfer coding is not valid", from: authority)
        case CURLE_GOT_NOTHING:
            self = .cut(authority, before: "without a response")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT:
            self = .cut(authority)
        default:
            self.init(.other, "the request to \(authority) failed: libcurl's error \(result.rawValue)")
        }
    }

    /// Asks the system's resolver whether there is no host with a name.
    ///
    /// A name that nobody could be asked about is not unknown.
    static func isUnknownHost(_ name: String) -> Bool {
        // Devices announce these themselves, and may be off.
        guard !name.hasSuffix(".local") else { return false }
        var found: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(name, nil, nil, &found)
        if let found = unsafe found {
            unsafe freeaddrinfo(found)
        }
        return result == EAI_NONAME
    }

    /// The reason in an error of OpenSSL (`TLS connect error: error:0A00010B`), in the lower 23 bits; nil for none.
    private static func reason(in text: String) -> Int? {
        let numbers = text.ranges(of: "error:").lazy.map { Int(text[$0.upperBound...].prefix(8), radix: 16) }
        return numbers.compactMap(\.self).first.map { $0 & 0x7F_FFFF }
    }

    /// OpenSSL's reasons for alerts about the certificate of the client.
    private static let refusalsOfClient = [1116, 1042, 1044, 1046, 1048]

    /// What a SOCKS proxy decides itself, in contrast to what it meets on the way.
    private static let refusals = [
        CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_REPLY_NOT_ALLOWED, CURLPX_IDENTD_DIFFER,
    ].map { Int($0.rawValue) }

    private static func number(_ info: CURLINFO, _ handle: UnsafeMutableRawPointer) -> Int {
        var number = 0
        unsafe _ = resume_curl_get_number(handle, info, &number)
        return number
    }

    /// What is wrong with certificates and handshakes, by OpenSSL's numbers.
    ///
    /// Those of certificates are X509_V_ERR. Those of handshakes, after `tls-`, are the reasons of its library SSL; an
    /// alert that the server sent is 1000 and its number.
    private static let problems = WordTable(PackageResources.certificate_problems_txt)

    /// Says why a certificate is not trusted.
    private static func distrust(_ result: CURLcode, _ number: Int, of reception: Reception) -> String {
        guard result != CURLE_SSL_CACERT_BADFILE else {
            let file = reception.settings.trustedCertificates.map { Printable.escaped($0) }
            return "\(file ?? "the file that libcurl expects") holds no trusted certificate"
        }
        let problem = problems["\(number)"].map { ": \($0)" } ?? " (OpenSSL's reason \(number))"
        return "the certificate of \(reception.exchange.authority) is not trusted\(problem)"
    }

    /// Says why a handshake failed, by the reason in OpenSSL's error.
    private static func handshake(_ authority: String, _ reason: Int?) -> TransportError {
        // The alert internal_error: the server is restarting or overloaded.
        guard let reason, ![294, 1080].contains(reason) else {
            return TransportError(.connectionClosed, "the TLS handshake with \(authority) was cut")
        }
        let problem = problems["tls-\(reason)"] ?? "the TLS connection to % failed (OpenSSL's reason \(reason))"
        return TransportError(.tls, problem.replacing("%", with: authority))
    }
}
