internal import TestSupport

/// One call to the file system, as the shim traced it.
package struct FileCall: Sendable, Equatable {
    /// When it began, in ticks of one clock for all threads.
    package var start: Int
    /// When it ended.
    ///
    /// A call is known to be later than another if it started after the other's end.
    package var end: Int
    package var thread: Int
    /// Its name as in a rule.
    package var name: String
    /// The path; for `rename` and `link` the old one.
    package var path: String
    /// The new path of `rename` and `link`.
    package var newPath: String?
    /// The offset in the file; for `open` its flags, for `flock` the operation.
    package var offset: Int64?
    /// The requested number of bytes.
    package var length: Int64?
    /// The return value; nil if it failed.
    package var result: Int64?
    /// The error it failed with, such as `ENOSPC`; `killed` if the program was killed before it.
    package var error: String?
    /// The shim's fault, such as `short`.
    package var fault: String?

    /// Reads a line; nil if it is malformed, such as the last one of a killed program.
    package init?(line: some StringProtocol) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard parts.count == 10, let start = Int(parts[0]), let end = Int(parts[1]), let thread = Int(parts[2]) else {
            return nil
        }
        (self.start, self.end, self.thread) = (start, end, thread)
        (name, path) = (String(parts[3]), String(parts[4]))
        newPath = parts[5] == "-" ? nil : String(parts[5])
        offset = Int64(parts[6]).flatMap { $0 < 0 ? nil : $0 }
        length = Int64(parts[7]).flatMap { $0 < 0 ? nil : $0 }
        result = Int64(parts[8])
        error = result == nil ? String(parts[8]) : nil
        fault = parts[9] == "-" ? nil : String(parts[9])
    }

    /// Reads a whole trace, in the order in which the calls began.
    ///
    /// - Throws: An error if the file cannot be read.
    package static func trace(_ path: String) throws -> [FileCall] {
        String(decoding: try Files.bytes(path), as: UTF8.self).split(separator: "\n")
            .compactMap { FileCall(line: $0) }.sorted { $0.start < $1.start }
    }
}
