/// What tells one start of the machine from another: only within one may the page cache be trusted.
package enum BootIdentifier {
    package static let current: String = {
        #if canImport(Darwin)
        var size = 64
        var bytes = [CChar](repeating: 0, count: size)
        guard unsafe sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return unknown }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        // Not through OpenFile's rules for the store, but a plain read of the kernel's own file.
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return unknown }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        guard count >= 36 else { return unknown }
        return String(decoding: bytes[..<36], as: UTF8.self)
        #endif
    }()

    /// Equal to no stored identifier: then only durable bytes are trusted.
    private static let unknown = "unknown-" + String(UInt64.random(in: 0 ... .max), radix: 16)
}
