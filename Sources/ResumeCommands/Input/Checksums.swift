import ResumeHTTP

/// The digests of files, as listed by `sha256sum`, `shasum`, `cksum` or BSD's `sha256`.
struct Checksums {
    private struct Line {
        /// The path of the file as listed; nil if the file contains nothing but a digest.
        var name: String?
        var digest: HTTPDigest
    }

    /// The reason in JSON if there is no digest.
    static let missing: Reason.Code = "no-checksum"

    /// The lines by the last component of their paths.
    private var lines: [String?: [Line]] = [:]
    /// The path or URL of the list, without control characters and secrets.
    private let source: String

    /// Reads a file, which may be a pipe.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read or contains no SHA-256 or SHA-512.
    init(path: String) throws(CommandFailure) {
        try self.init(in: try InputFile.bytes(of: path), of: Printable.escaped(path), otherwise: .usage)
    }

    /// Reads the bytes of a list.
    ///
    /// - Throws: ``CommandFailure`` with the status if it contains no SHA-256 or SHA-512.
    init(in bytes: [UInt8], of source: String, otherwise status: ExitStatus = .refused) throws(CommandFailure) {
        self.source = source
        // A server may send millions of lines, and a line takes long in comparison.
        InputFile.forEachLine(in: bytes[...], ofAtLeast: Self.shortestDigest) { line in
            guard let line = line.text.flatMap(Self.line) else { return }
            lines[line.name.flatMap(Self.base), default: []].append(line)
        }
        guard !lines.isEmpty else { throw missing("SHA-256 or SHA-512 checksums", status) }
    }

    private func missing(_ what: String, _ status: ExitStatus = .refused) -> CommandFailure {
        CommandFailure(status, "\(source) contains no \(what)", reason: Self.missing)
    }

    /// Returns the digest of the file at a URL.
    ///
    /// Files are found by their names. If several have the same one, that with the most folders in common is taken.
    ///
    /// - Throws: ``CommandFailure`` if there is none, or if several are equally good.
    func digest(of url: DownloadURL) throws(CommandFailure) -> HTTPDigest {
        try digest(of: url.lastPathComponent, in: url.requestTarget.prefix { $0 != "?" }, Redaction.url(url))
    }

    /// Returns the digest of the file at a path, like ``digest(of:)``.
    func digest(ofPath path: String) throws(CommandFailure) -> HTTPDigest {
        try digest(of: Self.base(of: path), in: path[...], Printable.escaped(path))
    }

    private func digest(
        of name: String?, in path: Substring, _ shown: String
    ) throws(CommandFailure) -> HTTPDigest {
        var candidates = lines[name] ?? []
        // `sha256sum < file` names it "-", and a file next to the download may contain the digest only.
        if candidates.isEmpty, lines.count == 1 { candidates = lines[nil] ?? lines["-"] ?? [] }
        let depths = candidates.map { Self.folders(of: $0.name ?? "", in: path) }
        let best = zip(candidates, depths).filter { $1 == depths.max() }.map(\.0.digest)
        // The stronger of two algorithms is enough.
        let strongest = best.filter { $0.bytes.count == best.map(\.bytes.count).max() }
        guard let digest = strongest.first else { throw missing("SHA-256 or SHA-512 of \(shown)") }
        guard strongest.allSatisfy({ $0 == digest }) else {
            throw CommandFailure(
                .refused, "\(source) contains different checksums for \(shown)", reason: Self.missing)
        }
        return digest
    }

    /// Returns how many folders before the name of a listed file are also before the name in a URL's path.
    private static func folders(of name: String, in path: Substring) -> Int {
        let listed = name.split(separator: "/").dropLast()
        let given = path.split(separator: "/").dropLast()
        return zip(listed.reversed(), given.reversed()).prefix { $0 == $1 }.count
    }

    private static func base(of name: String) -> String? { name.split(separator: "/").last.map(String.init) }

    /// Parses `HEX  NAME`, `HEX *NAME`, `SHA256 (NAME) = HEX` or `HEX`.
    ///
    /// - Returns: nil for other lines, such as comments, signatures and MD5.
    private static func line(_ text: String) -> Line? {
        let scalars = text.unicodeScalars
        if let open = scalars.firstIndex(of: "("), let end = scalars.lastIndex(of: ")"), open < end {
            let name = scalars[scalars.index(after: open)..<end]
            let algorithm = text[..<open]
            let rest = text[scalars.index(after: end)...].replacing(" ", with: "", maxReplacements: 2)
            if algorithms.contains(algorithm.hasSuffix(" ") ? algorithm.dropLast() : algorithm), !name.isEmpty,
                rest.first == "="
            {
                return digest(rest.dropFirst()).map { Line(name: String(name), digest: $0) }
            }
        }
        // A backslash before the digest means that the name is escaped.
        let isEscaped = scalars.first == "\\"
        let digits = text.utf8.dropFirst(isEscaped ? 1 : 0).prefix { $0 != UInt8(ascii: " ") }
        guard let digest = digest(Substring(digits)) else { return nil }
        var name = scalars[digits.endIndex...].dropFirst()
        if name.count > 1, name.first == " " || name.first == "*" { name.removeFirst() }
        guard !name.isEmpty else { return Line(name: nil, digest: digest) }
        return Line(name: isEscaped ? String(name).replacing("\\\\", with: "\\") : String(name), digest: digest)
    }

    private static let algorithms: Set<Substring> = ["SHA256", "SHA512", "SHA2-256", "SHA2-512"]
    /// The number of digits of SHA-256.
    private static let shortestDigest = 64

    /// Parses hexadecimal digits; their number tells the algorithm.
    private static func digest(_ text: Substring) -> HTTPDigest? {
        HTTPDigest.Algorithm.allCases.first { $0.byteCount * 2 == text.utf8.count }
            .flatMap { HTTPDigest($0, hexadecimal: String(text)) }
    }
}

extension HTTPDigest {
    /// Parses `sha-256=HEX` or `sha-512=HEX`, as aria2 takes it.
    init?(named text: String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let algorithm = Algorithm(rawValue: parts[0].lowercased()) else { return nil }
        self.init(algorithm, hexadecimal: parts[1])
    }
}
