import ArgumentParser
import ResumeFiles
import ResumeHTTP

/// A list in a file named on the command line, or on standard input, which is read a part at a time.
///
/// The file may be a pipe, such as a shell's `<(…)`. All calls may block.
final class InputFile {
    /// A line that is neither empty nor a comment.
    struct Line {
        /// The text without surrounding white space; nil if the line is not in UTF-8.
        var text: String?
        var number: Int
        /// Whether it is indented and begins with a word and `=`, as aria2's options of a URL.
        var isOption = false
        /// The lines of that kind that follow it.
        var options: [String] = []
        /// Whether these are too many to be kept, so that the last ones are missing.
        var hasMoreOptions: Bool { options.count > 16 || options.reduce(0) { $0 + $1.utf8.count } > 64 << 10 }
    }

    /// The maximum length of a line in bytes; a file with longer ones is not a list.
    private static let longestLine = 1 << 20

    /// The path, without control characters.
    private let name: String
    private let descriptor: Int32
    private var format: ListLine.Format
    private let status: FileStatus?
    /// Whether a read returns at once; from a pipe, it waits for the writer.
    private var isRegular: Bool { status?.kind == .regular }
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    /// The beginning of a line whose end has not been read.
    private var rest: [UInt8] = []
    private var number = 1
    /// Lines that have been read and not returned.
    private var lines: [Line] = []
    private var (hasBegun, isAtEnd) = (false, false)

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The file; `-` for standard input.
    ///   - format: Whether lines have options, and whether these are waited for before the first one.
    /// - Throws: ``CommandFailure`` if it cannot be opened, or is a folder.
    init(_ path: String, _ format: ListLine.Format = .urls) throws(CommandFailure) {
        self.format = format
        name = Printable.escaped(path)
        descriptor =
            unsafe path == "-"
            ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
            : open(path.systemPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(name, errno) }
        var status = stat()
        self.status = unsafe fstat(descriptor, &status) == 0 ? FileStatus(status) : nil
        if self.status?.kind == .folder { throw Self.failure(name, EISDIR) }
    }

    deinit { close(descriptor) }

    /// Throws if a file cannot be read, without opening it, since a named pipe would wait for its writer.
    static func requireReadable(_ path: String) throws(CommandFailure) {
        guard Folder.isThere(path, R_OK) else { throw failure(path, errno) }
    }

    /// Returns the error for a file that cannot be read.
    static func failure(_ name: String, _ number: Int32) -> CommandFailure {
        let problem = number == EISDIR ? "it is a folder" : SystemError.reason(number)
        return CommandFailure(.notFound, sentence("unreadable-file", name, problem))
    }

    /// Reads a whole file.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read, or is too long to be kept in memory.
    static func bytes(of path: String) throws(CommandFailure) -> [UInt8] {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        while !file.isAtEnd {
            bytes += try file.nextBytes()
            guard bytes.count <= 16 << 20 else {
                throw CommandFailure(.usage, sentence("list-too-long", file.name))
            }
        }
        return bytes
    }

    /// Calls a closure with each line of a text, except those of fewer bytes.
    ///
    /// - Returns: The number of the line that follows.
    @discardableResult
    static func forEachLine(
        in bytes: ArraySlice<UInt8>, from first: Int = 1, ofAtLeast count: Int = 0, _ body: (Line) -> Void
    ) -> Int {
        var start = bytes.startIndex
        var number = first
        while start < bytes.endIndex {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            if end - start >= count, let line = line(bytes[start..<end], number) { body(line) }
            start = end + 1
            number += 1
        }
        return number
    }

    /// Returns the next lines, and fewer than asked for only at the end of the file, or while a pipe is empty.
    ///
    /// - Parameters:
    ///   - most: The maximum number of lines.
    ///   - isCancelled: Whether to stop waiting for the writer of a pipe.
    /// - Returns: The lines; none at the end.
    /// - Throws: ``CommandFailure`` if the file cannot be read or has too long lines.
    func next(most: Int, until isCancelled: () -> Bool) throws(CommandFailure) -> [Line] {
        // The line behind them shows that the last one has no more options.
        while !isAtEnd, lines.count <= most, lines.isEmpty || isRegular || format == .aria2 {
            guard isRegular || waitForInput(isCancelled) else { return [] }
            try readPart()
        }
        defer { lines.removeFirst(min(most, lines.count)) }
        return Array(lines.prefix(most))
    }

    /// Whether no other user can have written it, except root.
    var isOwn: Bool {
        status.map { [0, geteuid()].contains($0.owner) && $0.permissions & 0o022 == 0 } ?? false
    }

    /// Whether everything has been returned.
    var isDone: Bool { isAtEnd && lines.isEmpty }

    /// Waits until a read does not block; returns false if that is cancelled.
    private func waitForInput(_ isCancelled: () -> Bool) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // An interrupted or failed call shows in the read that follows.
        while unsafe poll(&request, 1, 100) == 0 { if isCancelled() { return false } }
        return true
    }

    private func nextBytes() throws(CommandFailure) -> ArraySlice<UInt8> {
        let count = unsafe read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { return [] }
        guard count >= 0 else { throw Self.failure(name, errno) }
        isAtEnd = count == 0
        guard hasBegun || !buffer.prefix(count).starts(with: [0x1F, 0x8B]) else {
            throw CommandFailure(.usage, sentence("list-compressed", name))
        }
        hasBegun = true
        return buffer.prefix(count)
    }

    private func readPart() throws(CommandFailure) {
        rest += try nextBytes()
        let end = isAtEnd ? rest.endIndex : rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        number = Self.forEachLine(in: rest[..<end], from: number) { line in
            guard line.isOption, format != .urls else { return lines.append(line) }
            format = .aria2
            guard let text = line.text, !lines.isEmpty else { return lines.append(line) }
            if !lines[lines.count - 1].hasMoreOptions { lines[lines.count - 1].options.append(text) }
        }
        rest.removeFirst(end)
        guard rest.count <= Self.longestLine else {
            throw CommandFailure(.usage, sentence("list-long-line", name, number))
        }
    }

    /// Returns a line; nil if it is empty or a comment.
    private static func line(_ bytes: ArraySlice<UInt8>, _ number: Int) -> Line? {
        guard let scalars = String(validating: bytes, as: UTF8.self)?.unicodeScalars else {
            return Line(text: nil, number: number)
        }
        // Some editors start a text with a byte order mark.
        let line = number == 1 && scalars.first == "\u{FEFF}" ? scalars.dropFirst() : scalars[...]
        let isShown = { (scalar: Unicode.Scalar) in !scalar.properties.isWhitespace }
        guard let first = line.firstIndex(where: isShown), let last = line.lastIndex(where: isShown), line[first] != "#"
        else { return nil }
        let text = String(line[first...last])
        let isOption = first > line.startIndex && text.prefixMatch(of: /[a-z-]+=/) != nil
        return Line(text: text, number: number, isOption: isOption)
    }
}

extension ParsableArguments {
    /// Reads the file that an option names, and throws an error about the option if that fails.
    func bytes(of path: String, for option: String) throws -> [UInt8] {
        do throws(CommandFailure) {
            return try InputFile.bytes(of: path)
        } catch {
            throw ValidationError("\(option): \(error.message)")
        }
    }
}
