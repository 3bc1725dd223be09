internal import ResumeHTTP

/// The digests of files, as listed by `sha256sum`, `shasum`, `cksum` or BSD's `sha256`.
struct Checksums {
    private struct Line {
        /// The path of the file as listed; nil if the file contains nothing but a digest.
        var name: String?
        var digest: HTTPDigest
    }

    /// The lines by the last component of their paths.
    private var lines: [String?: [Line]] = [:]
    /// The path or URL of the list, without control characters and secrets.
    private let source: String

    /// Reads a file, which may be a pipe.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read or contains no SHA-256 or SHA-512.
    init(path: String) throws(CommandFailure) {
        let source = Printable.escaped(path)
        guard let checksums = Checksums(try InputFile.lines(of: path), of: source) else {
            throw CommandFailure(.usage, "\(source) contains no SHA-256 or SHA-512 checksums")
        }
        self = checksums
    }

    /// Reads lines; nil if they contain no SHA-256 or SHA-512.
    init?(_ listed: [InputFile.Line], of source: String) {
        self.source = source
        for line in listed {
            guard let line = line.text.flatMap(Self.line) else { continue }
            lines[line.name.flatMap(Self.base), default: []].append(line)
        }
        if lines.isEmpty { return nil }
    }

    /// Returns the digest of the file at a URL.
    ///
    /// Files are found by their names. If several have the same one, that with the most folders in common is taken.
    ///
    /// - Throws: ``CommandFailure`` if there is none, or if several are equally good.
    func digest(of url: DownloadURL) throws(CommandFailure) -> HTTPDigest {
        let name = url.lastPathComponent
        var candidates = lines[name] ?? []
        // `sha256sum < file` names it "-", and a file next to the download may contain the digest only.
        if candidates.isEmpty, lines.count == 1 { candidates = lines[nil] ?? lines["-"] ?? [] }
        let depths = candidates.map { Self.folders(of: $0.name ?? "", in: url.requestTarget.prefix { $0 != "?" }) }
        let best = zip(candidates, depths).filter { $1 == depths.max() }.map(\.0.digest)
        // The stronger of two algorithms is enough.
        let strongest = best.filter { $0.bytes.count == best.map(\.bytes.count).max() }
        guard let digest = strongest.first else {
            throw CommandFailure(
                .refused, "\(source) contains no SHA-256 or SHA-512 of \(Redaction.url(url))", reason: "no-checksum")
        }
        guard strongest.allSatisfy({ $0 == digest }) else {
            throw CommandFailure(
                .refused, "\(source) contains different checksums for \(Redaction.url(url))", reason: "no-checksum")
        }
        return digest
    }

    /// Returns how many folders before the name of a listed file are also before the name in a URL's path.
    private static func folders(of name: String, in path: Substring) -> Int {
        let (listed, given) = (name.split(separator: "/").dropLast(), path.split(separator: "/").dropLast())
        return zip(listed.reversed(), given.reversed()).prefix { $0 == $1 }.count
    }

    private static func base(of name: String) -> String? { name.split(separator: "/").last.map(String.init) }

    /// Parses `HEX  NAME`, `HEX *NAME`, `SHA256 (NAME) = HEX` or `HEX`.
    ///
    /// - Returns: nil for other lines, such as comments, signatures and MD5.
    private static func line(_ text: String) -> Line? {
        if let match = text.wholeMatch(of: /SHA(?:2-)?(?:256|512) ?\((.+)\) ?= ?([0-9A-Fa-f]+)/) {
            return digest(match.2).map { Line(name: String(match.1), digest: $0) }
        }
        guard let match = text.wholeMatch(of: /(\\?)([0-9A-Fa-f]+)(?: [ *]?(.+))?/), let digest = digest(match.2) else {
            return nil
        }
        // A backslash before the digest means that the name is escaped.
        let name = match.3.map(String.init)
        return Line(name: match.1.isEmpty ? name : name?.replacing("\\\\", with: "\\"), digest: digest)
    }

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
