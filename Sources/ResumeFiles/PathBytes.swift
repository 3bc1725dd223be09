/// Paths as strings, which lose no byte.
///
/// A path of the system is any bytes. A byte that is not part of valid UTF-8 becomes a code point from U+F780 to U+F7FF,
/// which are private, and so does each byte of such a code point. The system gets the bytes again.
extension String {
    /// Makes a string from a path of the system.
    package init(systemPath path: UnsafePointer<CChar>) {
        self.init(systemPath: unsafe UnsafeBufferPointer(start: path, count: strlen(path)).map { UInt8(bitPattern: $0) })
    }

    /// Makes a string from the bytes of a path of the system.
    package init(systemPath bytes: [UInt8]) {
        self = ""
        var rest = bytes[...]
        while let first = rest.first {
            let plain = (1...4).lazy.compactMap { Self.scalar(rest.prefix($0)) }.first
            let scalar = plain ?? Unicode.Scalar(0xF700 + UInt32(first))
            if let scalar { unicodeScalars.append(scalar) }
            rest = rest.dropFirst(plain.map { UTF8.width($0) } ?? 1)
        }
    }

    /// Returns the only code point of some bytes; nil if they are not one, or if it stands for a byte.
    private static func scalar(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let scalars = String(validating: bytes, as: UTF8.self)?.unicodeScalars, scalars.count == 1 else { return nil }
        return scalars.first.flatMap { $0.pathByte == nil ? $0 : nil }
    }

    /// The bytes of a path for the system, with a 0 at the end.
    package var systemPath: [CChar] {
        // With this byte, all such code points begin.
        guard utf8.contains(0xEF) else { return Array(utf8CString) }
        let bytes = unicodeScalars.flatMap { scalar in scalar.pathByte.map { [$0] } ?? Array(String(scalar).utf8) }
        // In a name from a server, such code points may be what they are.
        guard String(systemPath: bytes).utf8.elementsEqual(utf8) else { return Array(utf8CString) }
        return (bytes + [0]).map { CChar(bitPattern: $0) }
    }
}

extension Unicode.Scalar {
    /// The byte of a path that the code point stands for.
    package var pathByte: UInt8? { 0xF780...0xF7FF ~= value ? UInt8(truncatingIfNeeded: value) : nil }
}
