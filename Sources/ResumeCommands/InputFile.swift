#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A file that is named on the command line, or standard input.
enum InputFile {
    /// Reads all of it; pipes too, such as a shell's `<(…)`.
    ///
    /// - Parameter path: The file; `-` for standard input.
    /// - Returns: nil where it cannot be read.
    static func text(of path: String) -> String? {
        guard let file = unsafe fopen(path == "-" ? "/dev/stdin" : path, "r") else { return nil }
        defer { unsafe _ = fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return unsafe ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
