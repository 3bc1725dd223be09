import ResumeHTTP

/// What the name of a partial file says about the program that has left it.
struct ForeignName: Sendable, Hashable {
    /// The program.
    var program: ForeignPartial.Program
    /// The digest of the whole file, for programs that name files by it.
    var digest: HTTPDigest?
    /// Why the file cannot be adopted whatever its bytes are.
    var obstacle: String?

    /// Recognizes a path.
    ///
    /// - Parameters:
    ///   - path: The path of the data.
    ///   - isThere: Whether a file exists at a path beside it.
    init(_ path: String, isThere: (String) -> Bool) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let name = parts.last ?? path
        let folder = parts.dropLast().last ?? ""
        program = .curlOrWget
        if let format = ControlFile.formats.first(where: { isThere(path + $0.suffix) }) {
            program = format.program
        } else if name.hasSuffix(".crdownload") {
            program = .chromium
        } else if folder == "blobs", BlobName(fileName: name) != nil {
            program = .store
        } else if let stem = Self.stem(name, ".incomplete") {
            program = .huggingFace
            digest = Self.digest(stem)
        } else if folder == "incomplete", let digest = Self.objectDigest(name) {
            program = .gitLFS
            self.digest = digest
        } else if let stem = Self.stem(name, ".part") {
            program = .browserOrYtDlp
            if isThere((parts.dropLast() + ["\(stem).ytdl"]).joined(separator: "/")) {
                obstacle = "yt-dlp has made it from fragments with different URLs"
            }
        } else if name.contains(".part-Frag") {
            program = .browserOrYtDlp
            obstacle = "it is a fragment of yt-dlp"
        }
    }

    private static func stem(_ name: String, _ suffix: String) -> String? {
        name.hasSuffix(suffix) && name.count > suffix.count ? String(name.dropLast(suffix.count)) : nil
    }

    /// The last SHA-256 in a name; a shorter hash of another algorithm is not a digest of the bytes alone.
    ///
    /// Some releases of huggingface_hub append random digits: `SHA256.607ec65b.incomplete`.
    private static func digest(_ stem: String) -> HTTPDigest? {
        stem.split(separator: ".").reversed().lazy
            .compactMap { HTTPDigest(.sha256, hexadecimal: String($0)) }.first
    }

    /// The digest in the name of a Git LFS object, which has random decimal digits appended until the download fails.
    private static func objectDigest(_ name: String) -> HTTPDigest? {
        let stem = stem(name, ".part") ?? stem(name, ".tmp") ?? name
        let rest = stem.dropFirst(64)
        guard rest.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return HTTPDigest(.sha256, hexadecimal: String(stem.prefix(64)))
    }
}
