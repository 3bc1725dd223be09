/// The permissions of a new file under the user's umask.
package enum FileMode {
    package static let ordinary: mode_t = {
        #if canImport(Darwin)
        // The only portable way to read the umask is to set it; it is restored at once.
        let mask = umask(0o077)
        umask(mask)
        return 0o666 & ~mask
        #else
        let descriptor = unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0o600 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        let mask = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last.flatMap { mode_t($0, radix: 8) }
        return 0o666 & ~(mask ?? 0o077)
        #endif
    }()
}
