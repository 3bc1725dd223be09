internal import CResumeCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import ResumeDownload
import ResumeHTTP

extension Reception {
    /// Sets the options of the handle.
    ///
    /// - Throws: `TransportError` if the request cannot be sent.
    func prepare(_ thread: NetworkThread) throws(TransportError) {
        unsafe set(CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque())
        for option in [
            CURLOPT_NOSIGNAL, CURLOPT_QUICK_EXIT, CURLOPT_PATH_AS_IS, CURLOPT_CERTINFO,
        ] { set(option, 1) }
        unsafe set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(text))
        set(CURLOPT_BUFFERSIZE, PartPool.size)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: Int64(settings.connectTime / .milliseconds(1))))
        try setAddress()
        try setFields()
        if exchange.request.method == .head {
            set(CURLOPT_NOBODY, 1)
        } else if exchange.request.method != .get {
            set(CURLOPT_CUSTOMREQUEST, exchange.request.method.rawValue)
        }
        setRoute()
        setTLS()
        setCookies()
        setCallbacks(thread)
    }

    private func set(_ option: CURLoption, _ number: Int) {
        unsafe _ = resume_curl_set_number(handle, option, number)
    }

    private func set(_ option: CURLoption, _ text: String?) {
        unsafe _ = resume_curl_set_text(handle, option, text)
    }

    private func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer?) {
        unsafe _ = resume_curl_set_pointer(handle, option, pointer)
    }

    /// libcurl must read the same host and port in the URL as we do.
    private func setAddress() throws(TransportError) {
        let url = exchange.url
        unsafe address = curl_url()
        let flags = UInt32(CURLU_PATH_AS_IS) | UInt32(CURLU_DISALLOW_USER)
        let result = unsafe curl_url_set(address, CURLUPART_URL, url.absoluteString, flags)
        guard result == CURLUE_OK, part(CURLUPART_HOST)?.lowercased() == url.host.lowercased(),
            part(CURLUPART_PORT) == "\(url.port)"
        else {
            throw TransportError(
                .invalidRequest, "cannot send the request to \(url.authority): libcurl reads another host in its URL")
        }
        unsafe set(CURLOPT_CURLU, address.map { unsafe UnsafeMutableRawPointer($0) })
    }

    private func part(_ part: CURLUPart) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(address, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK,
            let found = unsafe text
        else { return nil }
        defer { unsafe curl_free(found) }
        return unsafe String(cString: found)
    }

    private func setFields() throws(TransportError) {
        // libcurl would add its own.
        var lines = exchange.request.headerFields[.accept] == nil ? ["Accept:"] : []
        // libcurl sends them in one field with those of the jar.
        set(CURLOPT_COOKIE, exchange.request.headerFields[.cookie])
        for field in exchange.request.headerFields where field.name != .cookie {
            if exchange.url.scheme == "https", field.name.canonicalName == "host", field.value != exchange.url.authority
            {
                throw TransportError(
                    .invalidRequest, "the field Host is not the host of the URL, \(exchange.url.authority)")
            }
            if field.name == .authorization, setLogin(field.value) { continue }
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        guard let list = unsafe CurlList.make(lines) else { return }
        unsafe lists.append(list)
        unsafe set(CURLOPT_HTTPHEADER, list)
    }

    /// Gives libcurl the user and password of a field, if they are not to be sent as they are.
    private func setLogin(_ value: String) -> Bool {
        guard settings.authentication != .basic, value.hasPrefix("Basic "),
            let data = Data(base64Encoded: String(value.dropFirst(6)))
        else { return false }
        set(CURLOPT_USERPWD, String(decoding: data, as: UTF8.self))
        set(CURLOPT_HTTPAUTH, settings.authentication == .digest ? 2 : 3)
        return true
    }

    private func setRoute() {
        // Always set, since libcurl would read variables of the environment.
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_PROXY, exchange.proxy?.address ?? "")
        if let login = exchange.proxy?.credentials?.split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        {
            set(CURLOPT_PROXYUSERNAME, String(login[0]))
            set(CURLOPT_PROXYPASSWORD, login.count > 1 ? String(login[1]) : "")
        }
        if let local = settings.localInterface {
            set(CURLOPT_INTERFACE, PublicAddress.isAddress(local) ? "host!\(local)" : "if!\(local)")
        }
        switch settings.addresses.family {
        case .version4?: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .version6?: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        case nil: break
        }
        let fixed = settings.addresses.fixed.map { place, addresses in
            let texts = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }
            return "\(place):\(texts.joined(separator: ","))"
        }
        guard let list = unsafe CurlList.make(fixed) else { return }
        unsafe lists.append(list)
        unsafe set(CURLOPT_RESOLVE, list)
    }

    private func setTLS() {
        let version = settings.usesHTTP3 ? CURL_HTTP_VERSION_3 : CURL_HTTP_VERSION_2TLS
        set(
            CURLOPT_HTTP_VERSION,
            settings.usesHTTP2 || settings.usesHTTP3 ? version : CURL_HTTP_VERSION_1_1)
        // Resumed sessions show no certificate in some releases.
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        let oldest = settings.permitsOldTLS ? CURL_SSLVERSION_TLSv1_0 : CURL_SSLVERSION_TLSv1_2
        let newest =
            switch settings.newestTLS {
            case .version1_2?: CURL_SSLVERSION_MAX_TLSv1_2
            case .version1_3?: CURL_SSLVERSION_MAX_TLSv1_3
            case nil: CURL_SSLVERSION_MAX_NONE
            }
        set(CURLOPT_SSLVERSION, oldest | newest)
        if TLSEnds.isOpenSSL { set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=\(settings.permitsOldTLS ? 0 : 2)") }
        set(CURLOPT_SSL_VERIFYPEER, settings.verifiesServers ? 1 : 0)
        set(CURLOPT_SSL_VERIFYHOST, settings.verifiesServers ? 2 : 0)
        let folder = settings.trustedCertificateFolder
        if let file = settings.trustedCertificates {
            set(CURLOPT_CAINFO, file)
            set(CURLOPT_PROXY_CAINFO, file)
        }
        if settings.trustedCertificates != nil || folder != nil {
            // libcurl may have a folder of its own, which would be trusted besides the file.
            set(CURLOPT_CAPATH, folder)
            set(CURLOPT_PROXY_CAPATH, folder)
        }
        guard let own = settings.clientCertificate else { return }
        set(CURLOPT_SSLCERT, own.file)
        set(CURLOPT_SSLKEY, own.keyFile ?? own.file)
        if let password = own.password { set(CURLOPT_KEYPASSWD, password) }
    }

    private func setCookies() {
        // Those of the handle's last exchange.
        set(CURLOPT_COOKIELIST, "ALL")
        guard let jar = exchange.jar else { return }
        set(CURLOPT_COOKIEFILE, "")
        cookies = jar.lines
        for line in cookies { set(CURLOPT_COOKIELIST, line) }
    }

    private func setCallbacks(_ thread: NetworkThread) {
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe set(CURLOPT_HEADERDATA, own)
        unsafe _ = resume_curl_set_receiver(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe Reception.at(context)?.receive(line: line) == true ? count * size : 0
        }
        unsafe set(CURLOPT_WRITEDATA, own)
        unsafe _ = resume_curl_set_receiver(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe Reception.at(context)?.receive(body: part) == true ? count * size : Int(CURL_WRITEFUNC_PAUSE)
        }
        unsafe set(CURLOPT_PREREQDATA, own)
        unsafe _ = resume_curl_set_prereq(handle) { context, remote, local, remotePort, localPort in
            guard let remote = unsafe remote, let local = unsafe local else { return CURL_PREREQFUNC_ABORT }
            let ends = unsafe "\(String(cString: local)) \(localPort) \(String(cString: remote)) \(remotePort)"
            return unsafe Reception.at(context)?.mayRequest(on: ends) == true
                ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        unsafe set(CURLOPT_OPENSOCKETDATA, own)
        unsafe _ = resume_curl_set_open(handle) { context, _, address in
            guard let address = unsafe address else { return -1 }
            return unsafe Reception.at(context)?.open(address) ?? -1
        }
        // A connection may live longer than this exchange, but not longer than the thread.
        unsafe set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(thread.sockets).toOpaque())
        unsafe _ = resume_curl_set_close(handle) { context, socket in
            if let context = unsafe context {
                unsafe Unmanaged<OpenSockets>.fromOpaque(context).takeUnretainedValue().end(socket)
            }
            return 0
        }
        unsafe _ = resume_curl_set_context(handle) { _, context, _ in
            unsafe TLSEnds.observe(context)
            return CURLE_OK
        }
    }
}
