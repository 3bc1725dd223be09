import ArgumentParser
import ResumeHTTP

/// A URL in a list of downloads, and what the list says about its file.
struct ListLine {
    /// What the lines of a list are.
    enum Format: String, CaseIterable, ExpressibleByArgument {
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
        guard let text = line.text else { throw CommandFailure(.usage, "not in UTF-8") }
        guard !line.isOption || format == .urls else {
            throw CommandFailure(.usage, "an option without a URL; with --input-format aria2, options are waited for")
        }
        // Most lines have neither.
        let isSimple = !text.utf8.contains { $0 == 0x09 || $0 == 0x20 }
        let parts = isSimple ? [text] : text.utf8.parts(at: 0x09).map { String(Substring($0)) }
        url = parts[0]
        if !isSimple { try take(parts, text, as: format) }
        for option in line.options { try set(option, as: format) }
    }

    private mutating func take(_ parts: [String], _ text: String, as format: Format) throws(CommandFailure) {
        if let match = text.firstMatch(of: /(\s)https?:\/\//) {
            // aria2 takes URLs with tabs between them for servers of the same file.
            let advice = match.1 == "\t" ? "; several servers of a file are not supported, so name one of them" : ""
            throw CommandFailure(.usage, "several URLs; put each URL on its own line\(advice)")
        }
        guard !url.utf8.contains(0x20), parts.count <= (format == .auto ? 2 : 1) else {
            throw CommandFailure(
                .usage,
                "a URL and other text; write %20 for a space in a URL, a tab before the name of the file, and a comment "
                    + "on a line that begins with #")
        }
        if parts.count == 2 { try set("out=\(parts[1])", as: format) }
    }

    /// Takes an option as aria2 writes it.
    private mutating func set(_ text: String, as format: Format) throws(CommandFailure) {
        let option = text.parts(at: "=", most: 1)
        let value = option.count == 2 ? String(option[1]) : ""
        switch option[0] {
        case "out" where !value.isEmpty && !value.utf8.contains(UInt8(ascii: "/")) && value != "." && value != "..":
            name = value
        case "out":
            throw CommandFailure(.usage, "'\(Printable.escaped(value))' is not the name of a file; dir= names a folder")
        case "dir" where format == .aria2 || value.parts(at: "/").allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") }:
            folder = value
        case "dir":
            throw CommandFailure(
                .usage, "a list chooses folders inside the current one; --input-format aria2 permits all others")
        case "checksum":
            digest = HTTPDigest(named: value)
            guard digest != nil else {
                throw CommandFailure(.usage, "use checksum=sha-256= and 64 hexadecimal digits, or sha-512= and 128")
            }
        default:
            throw CommandFailure(
                .usage, "\(Printable.escaped(String(option[0]))) is not supported in a list, only out, dir and checksum")
        }
    }
}
