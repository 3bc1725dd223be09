internal import ResumeFiles

/// The network interfaces of this machine.
enum NetworkInterface {
    /// Returns a numeric address of an interface, or the address itself.
    ///
    /// - Parameters:
    ///   - name: The name of the interface, or an address.
    ///   - prefersIPv6: Whether its IPv6 address is wanted; otherwise it is used only if there is no other one.
    /// - Returns: The address; nil if there is no such interface, or if it has none.
    static func address(of name: String, prefersIPv6: Bool) -> String? {
        if isAddress(name) { return name }
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0, let first = unsafe list else { return nil }
        defer { unsafe freeifaddrs(first) }
        var found: [Bool: String] = [:]
        var next: UnsafeMutablePointer<ifaddrs>? = unsafe first
        while let interface = unsafe next {
            unsafe next = interface.pointee.ifa_next
            guard unsafe String(cString: interface.pointee.ifa_name) == name,
                let address = unsafe interface.pointee.ifa_addr
            else { continue }
            let family = Int32(unsafe address.pointee.sa_family)
            guard family == AF_INET || family == AF_INET6 else { continue }
            let length = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = unsafe getnameinfo(
                address, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            guard result == 0 else { continue }
            let shown = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            found[family == AF_INET6] = found[family == AF_INET6] ?? shown
        }
        return found[prefersIPv6] ?? found[!prefersIPv6]
    }

    /// Whether a text is a numeric IPv4 or IPv6 address.
    static func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return unsafe inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }
}
