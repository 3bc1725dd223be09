import CResumeCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP

extension Reception {
    /// Sets what differs between requests; everything else is set once on each handle.
    ///
    /// - Throws: `TransportError` if the request cannot be sent.
    func prepare() throws(TransportError) {
        curl.begin(self, on: thread)
        try setAddress()
        try setFields()
        if exchange.request.method == .head {
            curl.set(CURLOPT_NOBODY, 1)
        } else if exchange.request.method != .get {
            curl.set(CURLOPT_CUSTOMREQUEST, exchange.request.method.rawValue)
        }
        setRoute()
        if exchange.presentsCertificate, let own = settings.clientCertificate { curl.set(own) }
        cookies = exchange.jar?.lines ?? []
        curl.set(cookies: exchange.jar == nil ? nil : cookies)
    }

    private func setAddress() throws(TransportError) {
        let url = exchange.url
        // The host ends at the slash after the origin, so that it is the same in all URLs of an origin.
        let isKnown = curl.origin == url.origin
        guard isKnown || reads(url),
            unsafe resume_curl_set_text(handle, CURLOPT_URL, url.absoluteString) == CURLE_OK
        else {
            throw TransportError(.invalidRequest, sentence("curl-host", url.authority))
        }
        if !isKnown { (curl.origin, curl.fields) = (url.origin, nil) }
    }

    /// Whether libcurl reads the same host and port in a URL as we do.
    private func reads(_ url: DownloadURL) -> Bool {
        let address = unsafe curl_url()
        defer { unsafe curl_url_cleanup(address) }
        let part = { (part: CURLUPart) -> String? in
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(address, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK,
                let found = unsafe text
            else { return nil }
            defer { unsafe curl_free(found) }
            return unsafe String(cString: found)
        }
        let flags = UInt32(CURLU_PATH_AS_IS) | UInt32(CURLU_DISALLOW_USER)
        return unsafe curl_url_set(address, CURLUPART_URL, url.absoluteString, flags) == CURLUE_OK
            && part(CURLUPART_HOST)?.lowercased() == url.host.lowercased() && part(CURLUPART_PORT) == "\(url.port)"
    }

    private func setFields() throws(TransportError) {
        let fields = exchange.request.headerFields
        // A list of downloads sends the same fields each time.
        if let known = curl.fields, known.count == fields.count,
            known.indices.allSatisfy({ known[$0].isIdentical(to: fields[$0]) })
        {
            return
        }
        curl.fields = fields
        // libcurl would add its own.
        var lines = fields[.accept] == nil ? ["Accept:"] : []
        // libcurl sends them in one field with those of the jar.
        if let cookie = fields[.cookie] { curl.set(CURLOPT_COOKIE, cookie) }
        for field in fields where field.name != .cookie {
            if field.name.canonicalName == "host" {
                guard exchange.url.scheme == "http" || field.value == exchange.url.authority else {
                    throw TransportError(.invalidRequest, sentence("other-host", exchange.url.authority))
                }
                curl.hasHost = true
            }
            // Nothing is kept of a login.
            if Redirection.credentials.contains(field.name) {
                curl.isCommon = false
            }
            if field.name == .authorization, setLogin(field.value) { continue }
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        curl.set(lines: lines)
    }

    /// Gives libcurl the user and password of a field, if they are not to be sent as they are.
    private func setLogin(_ value: String) -> Bool {
        guard settings.authentication != .basic, value.hasPrefix("Basic "),
            let data = Data(base64Encoded: String(value.dropFirst(6)))
        else { return false }
        curl.set(CURLOPT_USERPWD, String(decoding: data, as: UTF8.self))
        curl.set(CURLOPT_HTTPAUTH, settings.authentication == .digest ? 2 : 3)
        return true
    }

    private func setRoute() {
        if let proxy = exchange.proxy { curl.set(CURLOPT_PROXY, proxy.address) }
        if let login = exchange.proxy?.credentials?.split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        {
            curl.set(CURLOPT_PROXYUSERNAME, String(login[0]))
            curl.set(CURLOPT_PROXYPASSWORD, login.count > 1 ? String(login[1]) : "")
        }
        let fixed = settings.addresses.fixed.map { place, addresses in
            let texts = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }
            return "\(place):\(texts.joined(separator: ","))"
        }
        set(CURLOPT_RESOLVE, fixed)
        set(CURLOPT_CONNECT_TO, settings.addresses.routes)
    }

    private func set(_ option: CURLoption, _ texts: [String]) {
        guard let list = unsafe CurlHandle.List.make(texts) else { return }
        unsafe curl.lists.append(list)
        unsafe curl.set(option, list)
    }
}

extension HTTPField {
    /// Whether another field has the same bytes; texts that only look the same are equal otherwise.
    fileprivate func isIdentical(to other: HTTPField) -> Bool {
        guard name.rawName == other.name.rawName else { return false }
        return unsafe withUnsafeBytesOfValue { mine in
            unsafe other.withUnsafeBytesOfValue { others in unsafe mine.elementsEqual(others) }
        }
    }
}
