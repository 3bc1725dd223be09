import CResumeCurl
import HTTPTypes

/// A handle of libcurl, which performs one exchange after the other.
///
/// It keeps the options that all requests of its thread share. What belongs to one request is removed at its end.
@safe
final class CurlHandle {
    let address: UnsafeMutableRawPointer
    /// The text of the last error.
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// The exchange that it performs.
    fileprivate(set) var reception: Reception?
    /// Whether all its options are those that the thread's requests share, or that every request sets or removes.
    var isCommon = false
    /// Whether libcurl reads the cookies of responses.
    var readsCookies = false
    /// Whether a request had a field Host: libcurl keeps cookies for that host, even after a reset.
    var hasHost = false
    /// An origin in whose URLs libcurl reads the same host and port as we do.
    var origin = ""
    /// The fields that the lines of the request were made of.
    var fields: HTTPFields?
    /// What libcurl reads until the end of the transfer.
    var lists: [UnsafeMutablePointer<curl_slist>] = unsafe []

    /// Makes a handle; nil if there is no memory.
    init?() {
        guard let address = unsafe curl_easy_init() else { return nil }
        unsafe self.address = unsafe address
        unsafe text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(address)
        unsafe lists.forEach { unsafe curl_slist_free_all($0) }
        unsafe text.deallocate()
    }

    /// The exchange of the handle behind libcurl's pointer.
    static func reception(at context: UnsafeMutableRawPointer?) -> Reception? {
        unsafe context.flatMap { unsafe Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue().reception }
    }

    func begin(_ reception: Reception, on thread: NetworkThread) {
        self.reception = reception
        unsafe text[0] = 0
        guard !isCommon else { return }
        setConnections(thread.configuration)
        setTLS(thread.configuration)
        setCallbacks(thread)
        isCommon = true
    }

    /// Removes what belongs to a request that has ended.
    func end() {
        reception = nil
        guard !isCommon else { return }
        unsafe curl_easy_reset(address)
        unsafe lists.forEach { unsafe curl_slist_free_all($0) }
        unsafe (lists, fields, readsCookies) = unsafe ([], nil, false)
    }

    // MARK: Options

    // Whatever sets an option besides those that every request sets or removes ends the common use.

    func set(_ option: CURLoption, _ number: Int) {
        isCommon = false
        unsafe _ = resume_curl_set_number(address, option, number)
    }

    func set(_ option: CURLoption, _ text: String?) {
        isCommon = false
        unsafe _ = resume_curl_set_text(address, option, text)
    }

    func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer?) {
        isCommon = false
        unsafe _ = resume_curl_set_pointer(address, option, pointer)
    }

    /// Sets what every request sets: the lines of its fields, even if there are none.
    func set(lines: [String]) {
        let list = unsafe List.make(lines)
        unsafe _ = resume_curl_set_pointer(address, CURLOPT_HTTPHEADER, list)
        unsafe lists.forEach { unsafe curl_slist_free_all($0) }
        unsafe lists = list.map { unsafe [$0] } ?? []
    }

    /// Sets what every request sets: its cookies, in place of those of the last exchange; nil if there is no jar.
    func set(cookies: [String]?) {
        unsafe _ = resume_curl_set_text(address, CURLOPT_COOKIELIST, "ALL")
        guard let cookies else { return }
        if !readsCookies { unsafe _ = resume_curl_set_text(address, CURLOPT_COOKIEFILE, "") }
        readsCookies = true
        for line in cookies { unsafe _ = resume_curl_set_text(address, CURLOPT_COOKIELIST, line) }
    }

    private func setConnections(_ settings: CurlTransport.Configuration) {
        for option in [CURLOPT_NOSIGNAL, CURLOPT_QUICK_EXIT, CURLOPT_PATH_AS_IS, CURLOPT_CERTINFO] { set(option, 1) }
        unsafe set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(text))
        set(CURLOPT_BUFFERSIZE, Exchange.PartPool.size)
        let timeout = min(max(settings.connectTimeout, .milliseconds(1)), .seconds(86_400))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: Int64(timeout / .milliseconds(1))))
        // Always set, since libcurl would read variables of the environment.
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_PROXY, "")
        if let local = settings.localInterface {
            set(CURLOPT_INTERFACE, PublicAddress.isAddress(local) ? "host!\(local)" : "if!\(local)")
        }
        switch settings.addresses.family {
        case .version4?: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .version6?: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        case nil: break
        }
    }

    private func setTLS(_ settings: CurlTransport.Configuration) {
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
        if let key = settings.pinnedKey {
            set(CURLOPT_PINNEDPUBLICKEY, key)
        }
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
    }

    /// Sets the certificate that this request presents.
    func set(_ own: CurlTransport.ClientCertificate) {
        set(CURLOPT_SSLCERT, own.file)
        set(CURLOPT_SSLKEY, own.keyFile ?? own.file)
        if let password = own.password { set(CURLOPT_KEYPASSWD, password) }
    }

    private func setCallbacks(_ thread: NetworkThread) {
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA,
        ] { unsafe set(option, own) }
        unsafe _ = resume_curl_set_receiver(address, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe CurlHandle.reception(at: context)?.receive(line: line) == true ? count * size : 0
        }
        unsafe _ = resume_curl_set_receiver(address, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe CurlHandle.reception(at: context)?.receive(body: part) == true
                ? count * size : Int(CURL_WRITEFUNC_PAUSE)
        }
        unsafe _ = resume_curl_set_prereq(address, CURLOPT_PREREQFUNCTION) { context, remote, local, port, localPort in
            guard let remote = unsafe remote, let local = unsafe local else { return CURL_PREREQFUNC_ABORT }
            let ends = unsafe OpenSockets.Ends(
                localPort: localPort, remotePort: port, local: String(cString: local), remote: String(cString: remote))
            return unsafe CurlHandle.reception(at: context)?.use(ends) == true
                ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        unsafe _ = resume_curl_set_open(address, CURLOPT_OPENSOCKETFUNCTION) { context, _, address in
            guard let address = unsafe address else { return -1 }
            return unsafe CurlHandle.reception(at: context)?.open(address) ?? -1
        }
        // A connection may live longer than this exchange, but not longer than the thread.
        unsafe set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(thread.sockets).toOpaque())
        unsafe _ = resume_curl_set_close(address, CURLOPT_CLOSESOCKETFUNCTION) { context, socket in
            if let context = unsafe context {
                unsafe Unmanaged<OpenSockets>.fromOpaque(context).takeUnretainedValue().end(socket)
            }
            return 0
        }
        unsafe _ = resume_curl_set_context(address, CURLOPT_SSL_CTX_FUNCTION) { _, context, _ in
            unsafe TLSEnds.observe(context)
            return CURLE_OK
        }
    }

    /// libcurl's lists of texts.
    enum List {
        static func lines(_ list: UnsafeMutablePointer<curl_slist>?) -> [String] {
            var lines: [String] = []
            var next = unsafe list
            while let item = unsafe next {
                if let text = unsafe item.pointee.data { lines.append(unsafe String(cString: text)) }
                unsafe next = item.pointee.next
            }
            return lines
        }

        /// Makes a list, which the caller frees; nil if there are no lines.
        static func make(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
            var list: UnsafeMutablePointer<curl_slist>?
            for line in lines { unsafe list = unsafe curl_slist_append(list, line) ?? list }
            return unsafe list
        }
    }
}
