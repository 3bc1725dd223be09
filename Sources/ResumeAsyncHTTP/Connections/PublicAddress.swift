internal import ResumeFiles

/// Decides which addresses belong to the public Internet.
///
/// Programs that fetch URLs from untrusted users must not let them access the program's own machine and network
/// (server-side request forgery).
package enum PublicAddress {
    /// Implements ``AsyncHTTPTransport/isPublicAddress(_:)``.
    package static func isPublic(_ address: String) -> Bool {
        guard let bytes = bytes(of: address) else { return false }
        return bytes.count == 4 ? isPublic4(bytes) : isPublic6(bytes)
    }

    /// Returns the 4 or 16 bytes of a numeric address; nil if it is invalid.
    static func bytes(of address: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, address, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Returns a numeric address; nil unless there are 4 or 16 bytes.
    static func text(of bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// IPv4 networks that are not public, by their first bytes and the length of the prefix.
    private static let reserved4: [([UInt8], Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 3),
    ]

    private static func isPublic4(_ bytes: [UInt8]) -> Bool {
        !reserved4.contains { matches(bytes, $0.0, $0.1) }
    }

    private static func isPublic6(_ bytes: [UInt8]) -> Bool {
        // IPv4 addresses in IPv6 form: mapped, or translated by NAT64.
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let translated: [UInt8] = [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]
        if bytes.starts(with: mapped) || bytes.starts(with: translated) { return isPublic4(Array(bytes.suffix(4))) }
        // In 6to4, the IPv4 address follows the prefix.
        if bytes.starts(with: [0x20, 0x02]) { return isPublic4(Array(bytes[2..<6])) }
        let isDocumentation = bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8])
        let isProtocol = matches(bytes, [0x20, 0x01, 0], 23)
        // Global unicast is 2000::/3.
        return matches(bytes, [0x20], 3) && !isDocumentation && !isProtocol
    }

    private static func matches(_ bytes: [UInt8], _ network: [UInt8], _ length: Int) -> Bool {
        for bit in 0..<length {
            let (index, mask) = (bit / 8, UInt8(0x80) >> UInt8(bit % 8))
            let wanted = index < network.count ? network[index] & mask : 0
            if bytes[index] & mask != wanted { return false }
        }
        return true
    }
}
