#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeHTTP

/// The digests of files, as listed by `sha256sum`, `shasum`, `cksum`, BSD's `sha256` or `gpg --print-md`.
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
    /// - Throws: ``CommandFailure`` if it cannot be read or contains no digest.
    init(path: String) throws(CommandFailure) {
        try self.init(in: try InputFile.bytes(of: path), of: Printable.escaped(path))
    }

    /// Reads the bytes of a list.
    ///
    /// - Throws: ``CommandFailure`` if it contains no digest.
    init(in bytes: [UInt8], of source: String) throws(CommandFailure) {
        self.source = source
        // gpg continues a digest in the lines that follow.
        var begun: (name: String, digits: String)?
        func end() {
            guard let whole = begun.take(), let digest = Self.digest(whole.digits[...]) else { return }
            add(Line(name: whole.name, digest: digest))
        }
        // A server may send millions of lines, and a line takes long in comparison.
        InputFile.forEachLine(in: Self.utf8(of: bytes)[...], ofAtLeast: Self.shortestLine) { line in
            guard let text = line.text else { return }
            if let more = Self.digits(in: text[...]), let before = begun?.digits, !before.isEmpty || more != text {
                begun?.digits += more
                return
            }
            end()
            if let line = Self.line(text) { return add(line) }
            begun = Self.beginning(of: text)
        }
        end()
        // What can be forged, or is the number of a commit, counts only where nothing else does.
        let proofs = lines.mapValues { $0.filter(\.digest.isProof) }.filter { !$0.value.isEmpty }
        if !proofs.isEmpty { lines = proofs }
        guard lines.isEmpty else { return }
        throw CommandFailure(.refused, sentence("no-checksum", source), reason: Self.missing)
    }

    private mutating func add(_ line: Line) {
        lines[line.name.flatMap(Self.base), default: []].append(line)
    }

    /// Returns the digest of the file at a URL, or of the path that it is written to; nil if there is none.
    ///
    /// Files are found by their names. If several have the same one, that with the most folders in common is taken.
    ///
    /// - Throws: ``CommandFailure`` if several are equally good.
    func digest(of url: DownloadURL, to path: String) throws(CommandFailure) -> HTTPDigest? {
        let name = url.lastPathComponent
        if !lines(of: name).isEmpty {
            return try digest(of: name, in: url.requestTarget.prefix { $0 != "?" }, Redaction.url(url))
        }
        return lines(of: Self.base(of: path)).isEmpty ? nil : try digest(ofPath: path)
    }

    /// Returns the digest of the first of some names that has one.
    ///
    /// - Throws: ``CommandFailure`` if none has one, or if several are equally good.
    func digest(named names: [String], of url: DownloadURL) throws(CommandFailure) -> HTTPDigest {
        let name = names.first { !lines(of: Self.base(of: $0)).isEmpty }
        return try digest(of: name.flatMap(Self.base), in: "", Redaction.url(url))
    }

    private func lines(of name: String?) -> [Line] {
        // `sha256sum < file` names it "-", and a file next to the download may contain the digest only.
        lines[name] ?? (lines.count == 1 ? lines[nil] ?? lines["-"] : nil) ?? []
    }

    /// Returns the digest of the file at a path, like ``digest(of:to:)``.
    func digest(ofPath path: String) throws(CommandFailure) -> HTTPDigest {
        try digest(of: Self.base(of: path), in: path[...], Printable.escaped(path))
    }

    private func digest(
        of name: String?, in path: Substring, _ shown: String
    ) throws(CommandFailure) -> HTTPDigest {
        let best = best(of: name, in: path).map(\.digest)
        let length = best.map(\.bytes.count).max()
        // The strongest algorithm is enough.
        let strongest = best.filter { $0.bytes.count == length }
        guard let digest = strongest.first else {
            throw CommandFailure(.refused, sentence("no-checksum-of", source, shown), reason: Self.missing)
        }
        guard strongest.allSatisfy({ $0 == digest }) else {
            throw CommandFailure(.refused, sentence("checksums-differ", source, shown), reason: Self.missing)
        }
        return digest
    }

    /// Returns the lines of a name with the most folders in common with a path.
    private func best(of name: String?, in path: Substring) -> [Line] {
        let candidates = lines(of: name).map { (line: $0, depth: Self.folders(of: $0.name ?? "", in: path)) }
        let most = candidates.map(\.depth).max()
        return candidates.filter { $0.depth == most }.map(\.line)
    }

    /// Returns the listed names that are those of none of some files, in order.
    func missing(among paths: [String]) -> [String] {
        let found = paths.flatMap { best(of: Self.base(of: $0), in: $0[...]).compactMap(\.name) }
        return Set(lines.values.joined().compactMap(\.name)).subtracting(found + ["-"]).sorted()
    }

    /// Returns how many folders before the name of a listed file are also before the name in a URL's path.
    private static func folders(of name: String, in path: Substring) -> Int {
        let listed = name.split(whereSeparator: isSeparator).dropLast()
        let given = path.split(separator: "/").dropLast()
        return zip(listed.reversed(), given.reversed()).prefix { $0 == $1 }.count
    }

    private static func base(of name: String) -> String? {
        name.split(whereSeparator: isSeparator).last.map(String.init)
    }

    private static func isSeparator(_ character: Character) -> Bool { character == "/" || character == "\\" }

    /// Parses `HEX  NAME`, `HEX *NAME`, `NAME HEX`, `SHA256 (NAME) = HEX` or `HEX`.
    ///
    /// - Returns: nil for other lines, such as comments and signatures.
    private static func line(_ text: String) -> Line? {
        // A backslash before the digest means that those of the name are doubled, which separate folders at any rate.
        let text = text.replacing("\t", with: " ").trimmingPrefix("\\")
        let first = text.prefix { $0 != " " }
        if let digest = digest(first) {
            let name = String(text[first.endIndex...].drop { $0 == " " || $0 == "*" })
            return Line(name: name.isEmpty ? nil : name, digest: digest)
        }
        guard let border = text.lastIndex(where: { $0 == " " || $0 == "=" }),
            let digest = digest(text[border...].dropFirst())
        else { return nil }
        let parts = text[...border].split(separator: "(", maxSplits: 1)
        guard text[...border].contains("=") else { return Line(name: trimmed(text[..<border]), digest: digest) }
        guard parts.count == 2, isAlgorithm(parts[0]) else { return nil }
        return Line(name: String(trimmed(parts[1]).dropLast()), digest: digest)
    }

    /// Returns a name without what separates it from a digest.
    private static func trimmed(_ name: Substring) -> String {
        var name = name
        while let last = name.last, " :=".contains(last) { name.removeLast() }
        return String(name)
    }

    /// Parses a line of gpg, whose digest may go on in the next ones: `NAME: HEX HEX …`, or `NAME: SHA256 = HEX HEX …`.
    private static func beginning(of text: String) -> (name: String, digits: String)? {
        guard let colon = text.utf8.lastIndex(of: .colon), colon > text.startIndex else { return nil }
        let parts = text[colon...].dropFirst().parts(at: "=", most: 1)
        guard parts.count == 1 || isAlgorithm(parts[0]) else { return nil }
        return digits(in: parts[parts.count - 1]).map { (String(text[..<colon]), $0) }
    }

    /// Returns hexadecimal digits without the spaces between them; nil if there is anything else.
    private static func digits(in text: Substring) -> String? {
        let digits = text.filter { $0 != " " }
        return digits.utf8.allSatisfy { Hexadecimal.digit($0) != nil } ? digits : nil
    }

    private static func isAlgorithm(_ text: Substring) -> Bool {
        let name = text.uppercased().filter { $0 != "-" && $0 != " " }
        return ["SHA256", "SHA512", "SHA2256", "SHA2512", "SHA1", "MD5"].contains(name)
    }

    /// The length of a line that has a group of digits.
    private static let shortestLine = 8

    /// Parses hexadecimal digits, perhaps after the algorithm and a colon; their number tells the algorithm.
    private static func digest(_ text: Substring) -> HTTPDigest? {
        let parts = text.parts(at: ":", most: 1)
        guard parts.count == 1 || isAlgorithm(parts[0]) else { return nil }
        let digits = String(parts[parts.count - 1])
        return HTTPDigest.Algorithm.allCases.lazy.compactMap { HTTPDigest($0, hexadecimal: digits) }.first
    }

    /// Returns a text in UTF-8; one in UTF-16, as PowerShell writes it, begins with a byte order mark.
    private static func utf8(of bytes: [UInt8]) -> [UInt8] {
        guard bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) else { return bytes }
        return Array((String(bytes: bytes, encoding: .utf16) ?? "").utf8)
    }
}

extension HTTPDigest {
    /// Parses `sha-256=HEX` or another algorithm, as aria2 takes it.
    init?(named text: String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let algorithm = Algorithm(rawValue: parts[0].lowercased()) else { return nil }
        self.init(algorithm, hexadecimal: parts[1])
    }
}
