import ResumeHTTP

extension ForeignPartial {
    /// What the name of a partial file says about the program that has left it.
    struct Name: Hashable {
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
            let dot = name.lastIndex(of: ".") ?? name.endIndex
            let stem = String(name[..<dot])
            let suffix = name[dot...]
            program = .curlOrWget
            if let format = ControlFile.formats.first(where: { isThere(path + $0.suffix) }) {
                program = format.program
            } else if suffix == ".crdownload" {
                program = .chromium
            } else if folder == "blobs", BlobName(fileName: name) != nil {
                program = .store
            } else if suffix == ".incomplete", !stem.isEmpty {
                program = .huggingFace
                // The last SHA-256, since some releases append random digits: `SHA256.607ec65b.incomplete`. A shorter hash
                // of another algorithm is not a digest of the bytes alone.
                digest = stem.split(separator: ".").compactMap { HTTPDigest(.sha256, hexadecimal: String($0)) }.last
            } else if folder == "incomplete",
                let digest = Self.objectDigest(suffix == ".part" || suffix == ".tmp" ? stem : name)
            {
                program = .gitLFS
                self.digest = digest
            } else if suffix == ".part", !stem.isEmpty {
                program = .browserOrYtDlp
                if isThere((parts.dropLast() + ["\(stem).ytdl"]).joined(separator: "/")) {
                    obstacle = sentence("of-fragments")
                }
            } else if name.contains(".part-Frag") {
                program = .browserOrYtDlp
                obstacle = sentence("is-fragment")
            }
        }

        /// The digest in the name of a Git LFS object, which has random decimal digits appended until the download fails.
        private static func objectDigest(_ name: String) -> HTTPDigest? {
            guard name.dropFirst(64).allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
            return HTTPDigest(.sha256, hexadecimal: String(name.prefix(64)))
        }
    }
}
