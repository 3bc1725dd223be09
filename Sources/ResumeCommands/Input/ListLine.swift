import ResumeHTTP

/// A URL in a list of downloads, and what the list says about its file.
struct ListLine {
    /// What the lines of a list are.
    enum Format: String {
        /// A URL, which a tab and a name may follow, or indented lines with aria2's options.
        case auto
        /// Only URLs.
        case urls
        /// The input file of aria2, whose folders may be anywhere.
        case aria2
    }

    let url: String
    /// The name of the file; nil if the URL or the server names it.
    private(set) var name: String?
    /// The folder of the file; nil for that of the command.
    private(set) var folder: String?
    private(set) var digest: HTTPDigest?

    /// Takes a URL as it was typed.
    init(url: String) { self.url = url }

    /// Parses a line and the options that follow it.
    ///
    /// - Throws: ``CommandFailure`` with what is wrong with it, and what to write instead.
    init(_ line: InputFile.Line, as format: Format) throws(CommandFailure) {
        guard let text = line.text else { throw CommandFailure(.usage, sentence("list-not-utf8")) }
        guard !line.isOption || format == .urls else { throw CommandFailure(.usage, sentence("list-option-alone")) }
        let parts = text.utf8.parts(at: 0x09)
        url = String(Substring(parts[0]))
        if parts.count > 1 || url.utf8.contains(0x20) {
            // aria2 takes URLs with tabs between them for servers of the same file.
            if text.contains(/\thttps?:/) { throw CommandFailure(.usage, sentence("list-servers")) }
            if text.contains(/\ https?:/) { throw CommandFailure(.usage, sentence("list-several")) }
            guard !url.utf8.contains(0x20), parts.count == 2, format == .auto else {
                throw CommandFailure(.usage, sentence("list-other-text", "%20"))
            }
            try set("out=\(Substring(parts[1]))", as: format)
        }
        guard !line.hasMoreOptions else { throw CommandFailure(.usage, sentence("list-many-options")) }
        for option in line.options { try set(option, as: format) }
    }

    /// Takes an option as aria2 writes it.
    private mutating func set(_ text: String, as format: Format) throws(CommandFailure) {
        // Bytes, because a combining mark would hide the slash or the equals sign before it.
        let option = text.utf8.parts(at: UInt8(ascii: "="), most: 1).map { String(Substring($0)) }
        let value = option[option.count - 1]
        let parts = value.utf8.parts(at: .slash)
        let shown = Printable.escaped(value)
        guard shown == value else { throw CommandFailure(.usage, sentence("list-characters", shown)) }
        switch option[0] {
        case "out":
            guard parts.count == 1, !["", ".", ".."].contains(value) else {
                throw CommandFailure(.usage, sentence("list-name", value))
            }
            name = value
        case "dir":
            guard format == .aria2 || parts.allSatisfy({ !$0.isEmpty && $0.first != .dot }) else {
                throw CommandFailure(.usage, sentence("list-folder"))
            }
            folder = value
        case "checksum":
            guard let given = HTTPDigest(named: value) else { throw CommandFailure(.usage, sentence("list-checksum")) }
            digest = digest.map { $0.isProof && !given.isProof ? $0 : given } ?? given
        default: throw CommandFailure(.usage, sentence("list-option", Printable.escaped(option[0])))
        }
    }
}
