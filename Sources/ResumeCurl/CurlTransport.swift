#if !Curl
#error("ResumeCurl needs the trait 'Curl' of the package resume-store, which is enabled by default")
#endif
import CResumeCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
public import HTTPTypes
public import ResumeDownload
import ResumeFiles
import ResumeHTTP
import Synchronization

/// A transport based on libcurl, for Linux and macOS.
///
/// It uses HTTP/1.1, so that one download is one stream whose back-pressure reaches the socket, and HTTP/2 if
/// configured. Requests go through a proxy if one is configured.
public final class CurlTransport: Transport {
    private let configuration: Configuration
    /// What identifies the caller's authorities, from the first request that needs it; empty for those of the system.
    private let authorities = Mutex<String?>(nil)
    private let queue: Exchange.Queue

    /// Whether it checks addresses (``Configuration/permitsAddress``).
    public var permitsSomeAddressesOnly: Bool { configuration.permitsAddress != nil }

    /// Makes a transport.
    ///
    /// Call ``shutdown()`` at the end.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        queue = Exchange.Queue(configuration)
    }

    /// Closes all connections; responses that are still being received fail.
    public func shutdown() async {
        for thread in queue.close() { await thread.stop() }
    }

    /// Ends the threads if ``shutdown()`` was not called, for example after an error.
    deinit {
        for thread in queue.close() { thread.post(.stop) }
    }

    /// Sends a request as `Transport` requires.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        try await send(request, within: nil)
    }

    /// Sends a request as `Transport` requires.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
        try await send(request, within: timeout)
    }

    private func send(_ request: HTTPRequest, within timeout: Duration?) async throws -> TransportResponse {
        guard NetworkThread.isUsable else { throw TransportError(.invalidRequest, sentence("curl-old")) }
        let url = try DownloadURL(of: request)
        let proxy = try configuration.proxies?.proxy(for: url)
        let exchange = Exchange(request, to: url, by: proxy, configuration.cookies ?? CookieJar.current, in: queue)
        queue.start(exchange)
        do {
            let head = try await exchange.head(within: timeout)
            return TransportResponse(head: head, body: exchange, trust: url.scheme == "https" ? trust : nil)
        } catch var error as TransportError where error.code == .nameNotResolved {
            guard proxy == nil, configuration.addresses.routes.isEmpty else { throw error }
            // libcurl does not tell a resolver that does not answer from one that knows no such name.
            try Task.checkCancellation()
            error.isUnknownHost = try await Blocking.run { [configuration] in
                configuration.isUnknownHost(url.host)
            }
            if error.isUnknownHost {
                error.message = "there is no host \(url.host); check the spelling"
            }
            throw error
        }
    }

    /// What certificates prove; nil for those that the system trusts.
    private var trust: ServerTrust? {
        guard configuration.verifiesServers else { return .unverified }
        return authorities.withLock { known in
            // Hundreds of files may have to be read.
            let paths = [configuration.trustedCertificates, configuration.trustedCertificateFolder]
            let text = known ?? paths.compactMap(\.self).map(Self.hashOfCertificates).joined(separator: "+")
            known = text
            return text.isEmpty ? nil : .authorities(text)
        }
    }

    /// Returns whether a numeric address is neither private, local nor reserved, for ``Configuration/permitsAddress``.
    ///
    /// Source: the special-purpose address registries of IANA
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    ///
    /// - Parameter address: An address such as `192.0.2.1` or `2001:db8::1`.
    /// - Returns: Whether it is public; false for invalid addresses.
    public static func isPublicAddress(_ address: String) -> Bool { PublicAddress.isPublic(address) }

    /// Returns what tells a file with trusted certificates, or a folder of such files, from others: the beginning of its
    /// SHA-256.
    package static func hashOfCertificates(at path: String) -> String {
        let manager = FileManager.default
        var files: [String] = []
        // OpenSSL takes several folders, and reads only files that are named by a hash.
        for folder in path.split(separator: ":").map(String.init) {
            let names = try? manager.contentsOfDirectory(atPath: folder)
            for name in (names ?? []).sorted() {
                // Eight hexadecimal digits, a dot and a number.
                let parts = name.utf8.split(separator: .dot, omittingEmptySubsequences: false)
                guard parts.count == 2, parts[0].count == 8, !parts[1].isEmpty, parts[1].allSatisfy(\.isDigit),
                    parts[0].allSatisfy({ $0.isDigit || (0x61...0x66).contains($0) })
                else { continue }
                files.append("\(folder)/\(name)")
            }
        }
        if files.isEmpty { files = [path] }
        var bytes: [UInt8] = []
        for file in files {
            bytes += manager.contents(atPath: file) ?? Data()
        }
        return String((HTTPDigest(.sha256, of: bytes)?.hexadecimal ?? "").prefix(16))
    }

    /// Whether a file contains certificates in PEM format.
    package static func hasCertificates(at path: String) -> Bool {
        let text = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.contains("-----BEGIN CERTIFICATE-----")
            || text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
    }

    /// Whether libcurl has HTTP/3.
    package static var supportsHTTP3: Bool {
        unsafe resume_curl_version().pointee.features & CURL_VERSION_HTTP3 != 0
    }
}

extension Exchange {
    /// Distributes exchanges among threads: at most so many at a time with one host, on all threads together.
    ///
    /// libcurl's own limit is not used: requests that wait for one host keep those for others from starting there.
    final class Queue: Sendable {
        private struct State {
            /// How many exchanges with each origin the threads perform.
            var running: [[String: Int]]
            var waiting: [Exchange] = []
            var isClosed = false

            /// Returns how many exchanges a thread performs.
            func load(of thread: NetworkThread) -> Int { running[thread.number].values.reduce(0, +) }

            mutating func add(_ change: Int, with origin: String, on thread: NetworkThread) {
                let count = (running[thread.number][origin] ?? 0) + change
                running[thread.number][origin] = count > 0 ? count : nil
            }
        }

        private let threads: [NetworkThread]
        /// The most exchanges with one origin.
        private let most: Int
        private let state: Mutex<State>

        init(_ configuration: CurlTransport.Configuration) {
            most = min(max(configuration.connectionsPerHost, 1), 1 << 16)
            let count = min(max(configuration.threads, 1), most, 256)
            let pool = Exchange.PartPool()
            threads = (0..<count).map { NetworkThread(configuration, pool, number: $0) }
            state = Mutex(State(running: Array(repeating: [:], count: count)))
        }

        /// Starts an exchange, as soon as there is room.
        func start(_ exchange: Exchange) {
            let isClosed = state.withLock { state in
                if !state.isClosed { state.waiting.append(exchange) }
                return state.isClosed
            }
            if isClosed { exchange.end(with: .isShutDown) } else { startNext(with: exchange.url.origin) }
        }

        /// Records that an exchange is about to end, so that what its reader sends next is counted without it.
        func noteEnd(of exchange: Exchange, on thread: NetworkThread) {
            state.withLock { $0.add(-1, with: exchange.url.origin, on: thread) }
            startNext(with: exchange.url.origin)
        }

        /// Starts the next exchange with an origin, if there is one.
        private func startNext(with origin: String) {
            while let (exchange, thread) = next(with: origin) {
                if exchange.start(on: thread) { return }
                // A thread that could not be created must not hold up the others that wait.
                state.withLock { $0.add(-1, with: origin, on: thread) }
                exchange.end(with: .isShutDown)
            }
        }

        /// Takes the next exchange with an origin, and the least loaded thread that has room for it.
        private func next(with origin: String) -> (Exchange, NetworkThread)? {
            state.withLock { state in
                guard let place = state.waiting.firstIndex(where: { $0.url.origin == origin }) else {
                    return nil
                }
                let free = threads.filter { thread in
                    // Each thread has its share, since its connections stay open.
                    let share = (most + threads.count - 1 - thread.number) / threads.count
                    return state.running[thread.number][origin] ?? 0 < share
                }
                guard let best = free.min(by: { state.load(of: $0) < state.load(of: $1) }) else {
                    return nil
                }
                state.add(1, with: origin, on: best)
                return (state.waiting.remove(at: place), best)
            }
        }

        /// Starts no more exchanges.
        ///
        /// - Returns: The threads.
        func close() -> [NetworkThread] {
            let waiting = state.withLock { state in
                state.isClosed = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for exchange in waiting { exchange.end(with: .isShutDown) }
            return threads
        }
    }
}
