extension DownloadURL {
    /// Reads a URL of which nothing has to be decoded or changed, as most are; nil for any other.
    init?(plain text: String) {
        let bytes = Array(text.utf8)
        let isSecure = bytes.starts(with: "https://".utf8)
        guard isSecure || bytes.starts(with: "http://".utf8) else { return nil }
        let rest = bytes[(isSecure ? 8 : 7)...]
        guard let end = rest.firstIndex(of: slash) else { return nil }
        let path = rest[end...]
        let place = rest[..<end].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let name = place[0]
        let label = name.split(separator: dot, omittingEmptySubsequences: false).last?.first
        let defaultPort = isSecure ? 443 : 80
        let port =
            place.count == 1
            ? defaultPort
            : Int(String(decoding: place[1], as: UTF8.self))
        guard
            place.count <= 2,
            (1...63).contains(name.count),
            name.allSatisfy(isOfHost),
            let label,
            !isDigit(label) || isAddress(name),
            place.dropFirst().joined().allSatisfy(isDigit),
            let port,
            (1..<65536).contains(port),
            path.allSatisfy(isOfPath),
            zip(path, path.dropFirst()).allSatisfy({ $0 != slash || $1 != dot })
        else { return nil }
        scheme = isSecure ? "https" : "http"
        host = String(decoding: name, as: UTF8.self)
        self.port = port
        authority = port == defaultPort ? host : "\(host):\(port)"
        userInfo = nil
        requestTarget = String(decoding: path, as: UTF8.self)
        isPlainPath = Self.isPlainPath(requestTarget)
        origin = "\(scheme)://\(authority)"
        absoluteString = origin + requestTarget
    }
}

private let dot = UInt8(ascii: ".")
private let slash = UInt8(ascii: "/")

private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

/// Whether a byte is a lower-case letter, a digit, a hyphen or a dot.
private func isOfHost(_ byte: UInt8) -> Bool {
    byte >= 0x61 && byte <= 0x7A || isDigit(byte) || byte == 0x2D || byte == dot
}

/// Whether a byte is one of these, an upper-case letter, an underscore or a slash.
private func isOfPath(_ byte: UInt8) -> Bool {
    isOfHost(byte) || byte >= 0x41 && byte <= 0x5A || byte == 0x5F || byte == slash
}

/// Whether a host is an IPv4 address in its usual form.
private func isAddress(_ host: ArraySlice<UInt8>) -> Bool {
    var numbers = 1
    var number = 0
    var digits = 0
    for byte in host {
        if byte == dot {
            guard digits > 0 else { return false }
            numbers += 1
            number = 0
            digits = 0
        } else {
            guard isDigit(byte), digits == 0 || number > 0 else { return false }
            number = number * 10 + Int(byte - 0x30)
            digits += 1
            guard number < 256 else { return false }
        }
    }
    return digits > 0 && numbers == 4
}
