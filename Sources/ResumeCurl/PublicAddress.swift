import CResumeCurl
import ResumeFiles
import ResumeHTTP

/// Decides which addresses belong to the public Internet.
///
/// Programs that fetch URLs from untrusted users must not let them access the program's own machine and network
/// (server-side request forgery).
package enum PublicAddress {
    /// The networks that are reserved for special purposes.
    private static let special = WordTable.words("special-networks")

    /// Implements ``CurlTransport/isPublicAddress(_:)``.
    static func isPublic(_ address: String) -> Bool {
        guard let bytes = bytes(of: address) else { return false }
        // IPv4 addresses in IPv6 form: mapped, translated by NAT64, or after the prefix of 6to4.
        if contains("::ffff:0:0/96", bytes) || contains("64:ff9b::/96", bytes) {
            return isPublic(bytes.suffix(4))
        }
        return isPublic(contains("2002::/16", bytes) ? bytes[2..<6] : bytes[...])
    }

    private static func isPublic(_ bytes: ArraySlice<UInt8>) -> Bool {
        let address = Array(bytes)
        // Global unicast.
        let isGlobal = address.count == 4 || contains("2000::/3", address)
        return isGlobal && !special.contains { contains($0, address) }
    }

    /// Whether a network, such as `10.0.0.0/8`, or an address contains an address.
    static func contains(_ network: String, _ address: [UInt8]) -> Bool {
        let parts = network.split(separator: "/", maxSplits: 1).map(String.init)
        let most = address.count * 8
        guard let start = parts.first.flatMap(bytes), start.count == address.count,
            let length = parts.count == 1 ? most : Int(parts[1]), 0...most ~= length
        else { return false }
        return (0..<length).allSatisfy { (start[$0 / 8] ^ address[$0 / 8]) & (0x80 >> UInt8($0 % 8)) == 0 }
    }

    /// Whether a text is a numeric IPv4 or IPv6 address.
    package static func isAddress(_ text: String) -> Bool { bytes(of: text) != nil }

    /// Returns the 4 or 16 bytes of a numeric address; nil if it is invalid.
    static func bytes(of address: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, address, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Returns the numeric address of a socket; nil unless it is an IPv4 or IPv6 address.
    static func text(of address: UnsafePointer<sockaddr>) -> String? {
        // After the family and the port, and with IPv6 after the flow label.
        let place = Int32(unsafe address.pointee.sa_family) == AF_INET ? 4..<8 : 8..<24
        guard [AF_INET, AF_INET6].contains(Int32(unsafe address.pointee.sa_family)) else { return nil }
        return text(of: unsafe Array(UnsafeRawBufferPointer(start: address, count: place.upperBound)[place]))
    }

    /// Returns a numeric address; nil unless there are 4 or 16 bytes.
    static func text(of bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
