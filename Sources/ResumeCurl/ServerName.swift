extension LeafCertificate {
    /// The host of a URL as a server's certificate must name it (RFC 9525, 6.1: the reference identifier).
    enum ServerName: Hashable {
        /// A DNS name, as the labels between its dots, in lower case.
        case dns([[UInt8]])
        /// The bytes of an IPv4 or IPv6 address.
        case address([UInt8])
        /// Neither a DNS name nor an address: no certificate can name it.
        case none

        /// Makes a name from the host of a URL.
        ///
        /// - Parameter host: A name, an IPv4 address, or an IPv6 address in brackets.
        init(host: String) {
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 2
            if let bytes = PublicAddress.bytes(of: isBracketed ? String(host.dropFirst().dropLast()) : host) {
                self = .address(bytes)
                return
            }
            var name = ArraySlice(host.utf8)
            // The dot of the root domain.
            if name.last == UInt8(ascii: ".") { name.removeLast() }
            self = Self.labels(of: name).map(Self.dns) ?? .none
        }

        /// Returns the labels of a DNS name in lower case; nil if it is not a DNS name.
        ///
        /// A name that ends in a number is an address in a form that only some programs accept.
        fileprivate static func labels(of name: some Collection<UInt8>) -> [[UInt8]]? {
            guard name.count <= 253 else { return nil }
            let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { label in
                label.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            }
            // Letters, digits, hyphens, and underscores, which are used in practice.
            let areValid = labels.allSatisfy { label in
                (1...63).contains(label.count)
                    && label.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains)
            }
            let endsInNumber = labels.last?.allSatisfy { (0x30...0x39).contains($0) } ?? true
            return areValid && !endsInNumber ? labels : nil
        }
    }

    /// A name in a certificate's subjectAltName extension (RFC 9525, 6.2: a presented identifier).
    enum CertificateName: Hashable {
        /// The bytes of a dNSName.
        case dns([UInt8])
        /// The bytes of an iPAddress.
        case address([UInt8])

        /// Returns whether a certificate with this name is valid for a server, according to RFC 9525, 6.3 and 6.5.
        ///
        /// Addresses match only addresses. A wildcard must be the whole left-most label, stands for one label, and must be
        /// followed by at least two labels.
        func covers(_ server: LeafCertificate.ServerName) -> Bool {
            switch (self, server) {
            case (.address(let bytes), .address(let address)): return bytes == address
            case (.dns(let bytes), .dns(let labels)):
                let wildcard = Array("*.".utf8)
                guard bytes.starts(with: wildcard) else {
                    return LeafCertificate.ServerName.labels(of: bytes) == labels
                }
                guard let parents = LeafCertificate.ServerName.labels(of: bytes.dropFirst(wildcard.count)),
                    parents.count >= 2
                else { return false }
                return labels.count == parents.count + 1 && labels.dropFirst().elementsEqual(parents)
            default: return false
            }
        }

        /// The name for messages, with unprintable and non-ASCII characters replaced.
        var text: String {
            switch self {
            case .dns(let bytes):
                String(
                    decoding: bytes.prefix(100).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "?") },
                    as: UTF8.self)
            case .address(let bytes): PublicAddress.text(of: bytes) ?? "an invalid address"
            }
        }
    }
}
