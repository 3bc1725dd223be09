extension OpenFile {
    /// The permissions of a new file under the user's umask.
    package static let ordinaryMode: mode_t = {
        #if canImport(Darwin)
        // The only portable way to read the umask is to set it; it is restored at once.
        let mask = umask(0o077)
        umask(mask)
        return 0o666 & ~mask
        #else
        let bytes = try? OpenFile("/proc/self/status", flags: O_RDONLY).bytes(4096)
        let text = String(decoding: bytes ?? [], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        let mask = line?.split(whereSeparator: \.isWhitespace).last.flatMap { mode_t($0, radix: 8) }
        return 0o666 & ~(mask ?? 0o077)
        #endif
    }()
}
