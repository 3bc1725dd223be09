import ResumeFiles
package import ResumeHTTP

/// A partial file that another program has left, and which of its bytes that program has received.
///
/// Nothing is trusted yet: ``DownloadStore`` copies the bytes, and the engine compares them with the server's file.
package struct ForeignPartial: Sendable, Hashable {
    /// The program that has left a file, as far as its name and the files beside it tell.
    package enum Program: String, Sendable, Hashable, CaseIterable {
        /// A program that writes a file from its beginning under its final name, such as curl and wget.
        case curlOrWget = "curl or wget"
        /// aria2, with its control file.
        case aria2 = "aria2"
        /// axel, with its state file.
        case axel = "axel"
        /// Chromium and browsers made from it.
        case chromium = "Chromium"
        /// Firefox or yt-dlp, whose files have the same suffix.
        case browserOrYtDlp = "Firefox or yt-dlp"
        case huggingFace = "huggingface_hub"
        case gitLFS = "git-lfs"
        /// A data file of a store without its database.
        case store = "resume-store"
    }

    let path: String
    package let program: Program
    /// The ranges that the program has received, in order and disjoint, without those that may not be on the disk.
    let ranges: [Range<Int64>]
    /// The length of the whole file; nil if the program has not recorded it.
    let totalBytes: Int64?
    /// The digest of the whole file, for programs that name files by it.
    let digest: HTTPDigest?
    /// The URL in the file's extended attributes, as wget and curl record it with `--xattr`; nil if there is none.
    package let url: DownloadURL?
    /// The identity and the length of the file when it was examined.
    let identity: FileStatus.Identity
    let size: Int64

    /// The number of bytes that may be adopted.
    var heldBytes: Int64 { ranges.sum { Int64($0.count) } }

    /// The bytes before the end of each range that are dropped: other programs write without syncing.
    static let untrustedTail: Int64 = 65_536

    /// Examines a file; blocks.
    ///
    /// - Parameter path: The path of the data, or of a control file beside it.
    /// - Throws: ``StoreError``: `noEntry` if there is no such file or nothing of it can be adopted, `misuse` if it can
    ///   not be adopted at all, `io`.
    package init(examining path: String) throws {
        var path = path
        for suffix in ControlFile.formats.map(\.suffix) where path.hasSuffix(suffix) {
            let data = String(path.dropLast(suffix.count))
            if Self.isFile(data) { path = data }
        }
        do {
            let file = try OpenFile(path, flags: O_RDONLY)
            try self.init(file, at: path)
        } catch let error as SystemError {
            guard !error.isMissing else {
                throw StoreError(.noEntry, "there is no file \(Printable.escaped(path))")
            }
            throw StoreError(wrapping: error)
        }
    }

    private init(_ file: OpenFile, at path: String) throws {
        let shown = Printable.escaped(path)
        let status = try file.status()
        guard status.kind == .regular else { throw StoreError(.misuse, "\(shown) is not a file") }
        let name = Name(path, isThere: Self.isFile)
        if let obstacle = name.obstacle { throw StoreError(.misuse, "\(shown) cannot be adopted: \(obstacle)") }
        let size = status.size
        let control = try ControlFile.formats.first { $0.program == name.program }?.control(of: path)
        var written = try control?.finished ?? Extents.written(in: file, upTo: size)
        if name.program == .aria2 {
            // What the control file claims of a hole was never written.
            let data = RangeSet(Extents.data(in: file, upTo: size))
            written = Array(data.intersection(RangeSet(written)).ranges)
        }
        self.path = path
        program = name.program
        totalBytes = control?.totalLength
        // What the control file claims beyond the end of the file is not there.
        ranges = Extents.trusted(written, upTo: min(size, totalBytes ?? size), piecewise: program != .aria2)
        digest = name.digest
        identity = status.identity
        self.size = size
        url = Self.url(of: file)
    }

    /// Returns what another program has left of a file, by the usual names beside its destination; nil if there is
    /// nothing.
    package static func beside(_ destination: String) -> (path: String, program: Program)? {
        let hasControl = ControlFile.formats.contains { isFile(destination + $0.suffix) }
        let others = ["\(destination).part", "\(destination).crdownload"].lazy.filter(isFile)
        let path = hasControl ? destination : others.first ?? ofFirefox(destination)
        return path.map { ($0, Name($0, isThere: isFile).program) }
    }

    /// Returns the partial file of Firefox: `NAME.XXXXXXXX.EXTENSION.part`, beside an empty file with the final name.
    private static func ofFirefox(_ destination: String) -> String? {
        guard (try? OpenFile(destination, flags: O_RDONLY).status())?.size == 0 else { return nil }
        let start = Destination.startOfName(in: destination)
        let folder = destination[..<start]
        let name = destination[start...]
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let end = "\(name[dot...]).part"
        let names = (try? Folder(folder.isEmpty ? "." : String(folder)).names()) ?? []
        let found = names.first { other in
            other.hasPrefix("\(name[..<dot]).") && other.hasSuffix(end)
                && other.utf8.count == name[..<dot].utf8.count + 1 + 8 + end.utf8.count
        }
        return found.map { "\(folder)\($0)" }.flatMap { isFile($0) ? $0 : nil }
    }

    private static func isFile(_ path: String) -> Bool {
        (try? OpenFile(path, flags: O_RDONLY).status())?.kind == .regular
    }

    private static func url(of file: OpenFile) -> DownloadURL? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in
            let length = unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                unsafe resume_files_origin_url(file.descriptor, text.baseAddress, text.count)
            }
            count = max(Int(length), 0)
        }
        return try? DownloadURL(String(decoding: bytes, as: UTF8.self))
    }
}

extension ForeignPartial.ControlFile.Format {
    /// Reads the control file beside a file.
    ///
    /// - Throws: ``StoreError`` if it does not have the format; ``SystemError``.
    fileprivate func control(of path: String) throws -> ForeignPartial.ControlFile {
        let file = try OpenFile(path + suffix, flags: O_RDONLY)
        let size = try file.status().size
        if size <= ForeignPartial.ControlFile.longest, let control = read(try file.bytes(Int(size))) { return control }
        throw StoreError(.misuse, Reason("control-unreadable", with: Printable.escaped(path + suffix)))
    }
}

extension ForeignPartial {
    /// The bytes of a file that are copied into a store.
    struct Source {
        let file: OpenFile
        let ranges: [Range<Int64>]
        /// Whether they are the whole file, which has the caller's digest.
        let isWhole: Bool
        let length: Int64
        let representation: Representation
    }

    /// Opens the file again, and decides what is copied of it; blocks.
    ///
    /// - Parameter digest: The digest that the whole file must have; nil if the caller knows none.
    /// - Returns: The bytes.
    /// - Throws: ``StoreError``: `misuse` if the file was replaced or is shorter than when it was examined, `noEntry` if
    ///   nothing of it can be adopted, `io`; ``SystemError``.
    func source(expecting digest: HTTPDigest?) throws -> Source {
        let file = try OpenFile(path, flags: O_RDONLY)
        let status = try file.status()
        guard status.kind == .regular, status.identity == identity, status.size >= size else {
            throw StoreError(.misuse, Reason("changed-since", with: Printable.escaped(path)))
        }
        let found = try digest.flatMap { try HeldBytes(blob: file).digest($0.algorithm, of: 0..<size) }
        let isWhole = digest != nil && found == digest
        guard isWhole || !ranges.isEmpty else {
            throw StoreError(.noEntry, Reason("nothing-adoptable", with: Printable.escaped(path)))
        }
        var representation = Representation(completeLength: isWhole ? size : totalBytes)
        representation.reprDigest = (digest ?? self.digest)?.fieldValue
        return Source(
            file: file, ranges: isWhole ? [0..<size] : ranges, isWhole: isWhole, length: isWhole ? size : heldBytes,
            representation: representation)
    }
}

extension Reason {
    static func adopted(_ count: Int64, from foreign: ForeignPartial) -> Reason {
        Reason("adopted", with: count, foreign.program.rawValue, Printable.escaped(foreign.path))
    }
}
