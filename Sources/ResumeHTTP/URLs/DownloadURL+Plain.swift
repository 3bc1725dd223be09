extension DownloadURL {
    /// Reads a URL of which nothing has to be decoded or changed, as most are; nil for any other.
    init?(plain text: String) {
        let bytes = Array(text.utf8)
        // "://" follows 4 letters, or 5.
        guard bytes.count > 8 else { return nil }
        let isSecure = bytes[4] == UInt8(ascii: "s")
        let start = isSecure ? 8 : 7
        guard bytes[..<start].elementsEqual((isSecure ? "https://" : "http://").utf8) else { return nil }
        var end = start
        while end < bytes.count, isOfHost(bytes[end]) { end += 1 }
        let name = bytes[start..<end]
        let label = name.lastIndex(of: .dot).map { $0 + 1 } ?? start
        guard (1...63).contains(name.count), label < end else { return nil }
        guard !bytes[label].isDigit || isUsualAddress(name) else { return nil }
        let host = String(decoding: name, as: UTF8.self)
        var port: Int?
        if end < bytes.count, bytes[end] == .colon {
            let digits = bytes[(end + 1)...].prefix(while: \.isDigit)
            let number = Int(String(decoding: digits, as: UTF8.self)) ?? 0
            // A zero before the port is removed.
            guard digits.first != 0x30, (1..<65536).contains(number) else { return nil }
            port = number
            end = digits.endIndex
        }
        guard end < bytes.count, bytes[end] == .slash else { return nil }
        let path = bytes[end...]
        for index in path.indices {
            guard isOfPath(bytes[index]), bytes[index] != .dot || bytes[index - 1] != .slash else { return nil }
        }
        self.init(isSecure ? "https" : "http", host, port, String(decoding: path, as: UTF8.self))
    }
}

/// Whether a host is an IPv4 address in the form that `DownloadURL.address` would give it.
private func isUsualAddress(_ host: ArraySlice<UInt8>) -> Bool {
    let numbers = host.split(separator: .dot, omittingEmptySubsequences: false)
    return numbers.count == 4
        && numbers.allSatisfy { digits in
            guard (1...3).contains(digits.count), digits.allSatisfy(\.isDigit) else { return false }
            let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
            return value < 256 && (digits.count == 1 || digits.first != 0x30)
        }
}

/// Whether a byte is a lower-case letter, a digit, a hyphen or a dot.
private func isOfHost(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A || byte.isDigit || byte == 0x2D || byte == .dot
}

/// Whether a byte is one of these, an upper-case letter, an underscore or a slash.
private func isOfPath(_ byte: UInt8) -> Bool {
    isOfHost(byte) || byte >= 0x41 && byte <= 0x5A || byte == 0x5F || byte == .slash
}
