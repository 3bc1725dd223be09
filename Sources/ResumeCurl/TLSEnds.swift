import CResumeCurl
import ResumeFiles
import Synchronization

/// Which TLS connections the server has ended with close_notify (RFC 8446, 6.1).
///
/// libcurl 7.88 takes any end for such a one, so OpenSSL is asked: through the library that libcurl has loaded, which
/// this module is not linked with.
enum TLSEnds {
    private typealias Observer = @convention(c) (UnsafeRawPointer?, Int32, Int32) -> Void
    private typealias SetObserver = @convention(c) (UnsafeMutableRawPointer?, Observer) -> Void

    fileprivate struct Watch {
        /// Who watches; the address of a connection may be that of another thread's next one.
        let owner: ObjectIdentifier
        var hasClosed = false
    }

    /// The watched connections, by their addresses.
    fileprivate static let watches = Mutex<[UInt: Watch]>([:])

    /// Whether libcurl uses OpenSSL.
    static let isOpenSSL =
        unsafe resume_curl_version().pointee.ssl_version.map { version in
            unsafe String(cString: version).hasPrefix("OpenSSL")
        } ?? false

    private static let setObserver: SetObserver? = {
        // The program may have another OpenSSL besides that of libcurl.
        let library = unsafe dlopen("libcurl.so.4", RTLD_LAZY | RTLD_NOLOAD)
        guard isOpenSSL, let symbol = unsafe dlsym(library, "SSL_CTX_set_info_callback") else { return nil }
        return unsafe unsafeBitCast(symbol, to: SetObserver.self)
    }()

    /// Observes the connections of a context of OpenSSL.
    static func observe(_ context: UnsafeMutableRawPointer?) {
        guard let setObserver = unsafe setObserver else { return }
        unsafe setObserver(context, unsafe noteAlert)
    }

    /// Watches the connection of a request; nil if it cannot be watched.
    static func watch(_ handle: UnsafeMutableRawPointer, for owner: Exchange) -> UnsafeRawPointer? {
        guard unsafe setObserver != nil else { return nil }
        var found: UnsafeMutableRawPointer?
        guard unsafe resume_curl_get_pointer(handle, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK,
            let session = unsafe found?.assumingMemoryBound(to: curl_tlssessioninfo.self),
            unsafe session.pointee.backend == CURLSSLBACKEND_OPENSSL,
            let connection = unsafe session.pointee.internals
        else { return nil }
        watches.withLock { $0[UInt(bitPattern: connection)] = Watch(owner: ObjectIdentifier(owner)) }
        return UnsafeRawPointer(connection)
    }

    /// Ends the watch.
    ///
    /// - Returns: Whether the server has ended the connection with close_notify.
    static func end(_ connection: UnsafeRawPointer, for owner: Exchange) -> Bool {
        let key = UInt(bitPattern: connection)
        return watches.withLock { watches in
            guard let watch = watches[key], watch.owner == ObjectIdentifier(owner) else { return false }
            watches[key] = nil
            return watch.hasClosed
        }
    }
}

/// A function and no closure, on which the compiler (6.3.1) crashes.
private func noteAlert(_ connection: UnsafeRawPointer?, _ event: Int32, _ value: Int32) {
    // SSL_CB_READ_ALERT, and the description close_notify.
    guard event & 0x4004 == 0x4004, value & 0xFF == 0 else { return }
    let key = UInt(bitPattern: connection)
    TLSEnds.watches.withLock { $0[key]?.hasClosed = true }
}
