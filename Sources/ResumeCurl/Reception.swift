import CResumeCurl
import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import Synchronization

/// An exchange on its network thread: what libcurl's callbacks read and change.
@safe
final class Reception {
    let exchange: Exchange
    let curl: CurlHandle
    let thread: NetworkThread
    private var reader: HeadReader
    private var failure: TransportError?
    /// What it uses, and OpenSSL's connection, whose end is watched.
    private var connection: (socket: Int32, tls: UnsafeRawPointer?)?
    /// Whether a connection is established, so that heads are no longer those of a proxy.
    private(set) var isEstablished = false
    private var hasPassedHead = false
    private var received: Int64 = 0
    private var flow = Flow.open
    /// The cookies that the exchange began with.
    var cookies: [String] = []

    private enum Flow: Equatable {
        case open
        /// The reader has to read first.
        case full
        /// The transfer went on after a pause, and no byte has come since.
        case resumed(at: Duration)
    }

    init(_ exchange: Exchange, _ curl: CurlHandle, _ thread: NetworkThread, _ known: HeadReader.KnownHead) {
        self.exchange = exchange
        self.curl = curl
        self.thread = thread
        reader = HeadReader(isHead: exchange.request.method == .head, authority: exchange.authority, known)
    }

    /// libcurl's handle.
    var handle: UnsafeMutableRawPointer { unsafe curl.address }

    var settings: CurlTransport.Configuration { thread.configuration }

    /// Whether the head of the response was received.
    var hasHead: Bool { reader.response != nil }

    private var isSecure: Bool { exchange.url.scheme == "https" }

    // MARK: Callbacks

    /// Refuses an address that the caller does not permit, or opens a socket.
    func open(_ target: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        // libcurl repeats a request on a new connection, through a new tunnel, where one that it used again was dead. It
        // counts that for the handle.
        if isEstablished { curl.isCommon = false }
        isEstablished = false
        failure = nil
        if let permits = settings.permitsAddress {
            let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
            let address = unsafe PublicAddress.text(
                of: (UnsafeRawPointer(target) + place).assumingMemoryBound(to: sockaddr.self))
            guard let address, permits(address) else {
                let reason = Reason("bad-address", with: exchange.authority, address ?? "")
                failure = TransportError(.addressNotPermitted, reason.text)
                return -1
            }
        }
        let (family, kind, number) = unsafe (target.pointee.family, target.pointee.socktype, target.pointee.protocol)
        return thread.sockets.open(family, kind, number, for: exchange) ?? -1
    }

    /// Decides whether a request may be sent on a connection; called for new ones and for those that are used again.
    func use(_ ends: OpenSockets.Ends) -> Bool {
        isEstablished = true
        leave()
        // Another address was refused, but this one is permitted.
        failure = nil
        guard let (socket, leaf) = thread.sockets.use(ends, certificate, for: exchange) else {
            failure = .cut(exchange.authority, before: "before the request")
            return false
        }
        if isSecure, settings.verifiesServers {
            failure =
                leaf.map { $0.problem(for: exchange.url) }
                ?? TransportError(.tls, "the certificate of \(exchange.authority) cannot be read")
        } else if !isSecure, exchange.proxy?.kind != .https, OpenSockets.unread(in: socket) > 0 {
            failure = TransportError(.connectionClosed, "\(exchange.authority) sent data before the request")
        }
        unsafe connection = (socket, TLSEnds.watch(handle, for: exchange))
        return failure == nil
    }

    /// The server's certificate, if the connection is new.
    private var certificate: LeafCertificate? {
        var found: UnsafeMutableRawPointer?
        guard unsafe resume_curl_get_pointer(handle, CURLINFO_CERTINFO, &found) == CURLE_OK,
            let chain = unsafe found?.assumingMemoryBound(to: curl_certinfo.self), unsafe chain.pointee.num_of_certs > 0
        else { return nil }
        let lines = unsafe CurlHandle.List.lines(chain.pointee.certinfo[0])
        return lines.first { $0.hasPrefix("Cert:") }.map { LeafCertificate(pem: String($0.dropFirst(5))) }
    }

    /// Receives a line of a head or a trailer.
    func receive(line: UnsafeRawBufferPointer) -> Bool {
        exchange.delivered.add(line.count, ordering: .relaxed)
        do throws(TransportError) {
            guard isEstablished else {
                try reader.skip(line.count)
                return true
            }
            if try unsafe reader.read(line) { exchange.noteSign() }
            if reader.isAmbiguous { curl.set(CURLOPT_FORBID_REUSE, 1) }
        } catch {
            failure = error
            return false
        }
        return true
    }

    /// Receives a part of the body.
    ///
    /// - Returns: Whether it was used; if not, libcurl keeps it and pauses. Where it might lose it, all parts are used, and
    ///   the pause begins after the one that filled the buffer.
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        if flow == .full, !usesAllParts {
            exchange.isPaused = true
            return false
        }
        if flow != .full { flow = .open }
        exchange.delivered.add(bytes.count, ordering: .relaxed)
        received += Int64(bytes.count)
        var capacity = Exchange.PartPool.size
        if case .length(let length) = reader.response?.framing {
            capacity = Int(clamping: min(length, Int64(capacity)))
        }
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let piece = unsafe rest.prefix(Exchange.PartPool.size)
            unsafe rest = rest.dropFirst(piece.count)
            let part = unsafe UnsafeRawBufferPointer(rebasing: piece)
            if unsafe !exchange.add(part, inPartsOf: capacity, from: thread.pool) { flow = .full }
        }
        if flow == .full {
            exchange.passOn()
            exchange.resumeWhenRoom()
            if usesAllParts, !exchange.isPaused {
                exchange.isPaused = true
                unsafe curl_easy_pause(handle, CURLPAUSE_RECV)
            }
        }
        return true
    }

    private var usesAllParts: Bool { reader.isMultiplexed && NetworkThread.dropsRefusedParts }

    // MARK: Turns of the thread

    /// Passes on what arrived in a turn.
    func passOn() {
        passHead()
        if received > 0 { exchange.passOn() }
    }

    private func passHead(atEnd: Bool = false) {
        guard !hasPassedHead, let head = reader.response?.head, atEnd || !awaitsChallenge else { return }
        hasPassedHead = true
        keepCookies()
        exchange.add(head)
    }

    /// Whether libcurl may answer this head itself.
    private var awaitsChallenge: Bool {
        settings.authentication != .basic && reader.response?.head.status == .unauthorized && received == 0
    }

    private func keepCookies() {
        guard let jar = exchange.jar else { return }
        var found: UnsafeMutableRawPointer?
        guard unsafe resume_curl_get_pointer(handle, CURLINFO_COOKIELIST, &found) == CURLE_OK else { return }
        let list = unsafe found?.assumingMemoryBound(to: curl_slist.self)
        jar.update(from: cookies, to: unsafe CurlHandle.List.lines(list))
        unsafe curl_slist_free_all(list)
    }

    /// Continues after a pause.
    func resume() {
        if flow == .full { flow = .open }
        guard exchange.isPaused else { return }
        exchange.isPaused = false
        // Otherwise nothing was refused that must come now.
        if !usesAllParts { flow = .resumed(at: Ticker.now) }
        unsafe curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    /// Whether an HTTP/2 transfer has shown no byte since a pause, as happens in several releases of libcurl.
    var isStuck: Bool {
        guard reader.isMultiplexed, case .resumed(let time) = flow else { return false }
        return Ticker.now - time > .seconds(10)
    }

    func end(_ result: CURLcode) {
        let (isOpen, hasClosedPolitely) = leave()
        var problem = problem(result, isOpen, hasClosedPolitely)
        // libcurl does not tell which.
        if problem?.code == .connectionClosed, isSecure, isEstablished, settings.usesHTTP2 {
            problem?.message += ", or the server broke a rule of HTTP/2"
        }
        passHead(atEnd: true)
        exchange.end(with: problem)
    }

    /// Gives the connection back.
    ///
    /// - Returns: Whether it is still open, and whether the server has ended it with close_notify, if that is known.
    @discardableResult
    private func leave() -> (isOpen: Bool, hasClosedPolitely: Bool?) {
        guard let (socket, tls) = unsafe connection.take() else { return (false, nil) }
        return unsafe (thread.sockets.release(socket, by: exchange), tls.map { unsafe TLSEnds.end($0, for: exchange) })
    }

    private func problem(_ result: CURLcode, _ isOpen: Bool, _ hasClosedPolitely: Bool?) -> TransportError? {
        if let failure = failure ?? exchange.failure { return failure }
        // Where only the name is wrong, libcurl shows the certificate.
        if result == CURLE_PEER_FAILED_VERIFICATION, let mismatch = certificate?.problem(for: exchange.url) {
            return mismatch
        }
        guard result == CURLE_OK else { return TransportError(result, of: self) }
        guard let framing = reader.response?.framing else {
            return .cut(exchange.authority, before: "without a response")
        }
        let isWhole =
            switch framing {
            case .none, .chunked: true
            case .length(let length): received == length
            // libcurl 7.88 takes any end of a TLS connection, and of a broken HTTP/2 connection, for a polite one.
            case .close: reader.isMultiplexed ? isOpen : !isSecure || hasClosedPolitely ?? !TLSEnds.isOpenSSL
            }
        return isWhole ? nil : .cut(exchange.authority)
    }
}
