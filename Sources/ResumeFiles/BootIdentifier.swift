/// Distinguishes one boot of the machine from another: the page cache can be trusted only within the same boot.
package enum BootIdentifier {
    package static let current: String = {
        #if canImport(Darwin)
        var size = 64
        var bytes = [CChar](repeating: 0, count: size)
        guard unsafe sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return unknown }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        let bytes = try? OpenFile("/proc/sys/kernel/random/boot_id", flags: O_RDONLY).bytes(36)
        guard let bytes, bytes.count == 36 else { return unknown }
        return String(decoding: bytes, as: UTF8.self)
        #endif
    }()

    /// A value that equals no stored identifier, so that only durable bytes are trusted.
    private static let unknown = "unknown-" + String(UInt64.random(in: 0 ... .max), radix: 16)
}
