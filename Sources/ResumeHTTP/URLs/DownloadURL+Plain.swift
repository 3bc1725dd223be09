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
        guard (1...63).contains(name.count), label < end, !bytes[label].isDigit || isAddress(name) else {
            return nil
        }
        let defaultPort = isSecure ? 443 : 80
        var port = defaultPort
        if end < bytes.count, bytes[end] == .colon {
            var number = 0
            end += 1
            // A zero before the port is removed, as is the default port.
            guard end < bytes.count, bytes[end] != 0x30 else { return nil }
            while end < bytes.count, bytes[end].isDigit, number < 65536 {
                number = number * 10 + Int(bytes[end] - 0x30)
                end += 1
            }
            guard (1..<65536).contains(number), number != defaultPort else { return nil }
            port = number
        }
        guard end < bytes.count, bytes[end] == .slash else { return nil }
        let path = bytes[end...]
        for index in path.indices {
            guard isOfPath(bytes[index]) else { return nil }
            if bytes[index] == .dot, bytes[index - 1] == .slash { return nil }
        }
        scheme = isSecure ? "https" : "http"
        host = String(decoding: name, as: UTF8.self)
        self.port = port
        authority = String(decoding: bytes[start..<end], as: UTF8.self)
        userInfo = nil
        requestTarget = String(decoding: path, as: UTF8.self)
        isPlainPath = Self.hasNoToken(path)
        origin = String(decoding: bytes[..<end], as: UTF8.self)
        absoluteString = text
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

/// Whether a host is an IPv4 address in its usual form.
private func isAddress(_ host: ArraySlice<UInt8>) -> Bool {
    var numbers = 1
    var number = 0
    var digits = 0
    for byte in host {
        if byte == .dot {
            guard digits > 0 else { return false }
            numbers += 1
            number = 0
            digits = 0
        } else {
            guard byte.isDigit, digits == 0 || number > 0 else { return false }
            number = number * 10 + Int(byte - 0x30)
            digits += 1
            guard number < 256 else { return false }
        }
    }
    return digits > 0 && numbers == 4
}
