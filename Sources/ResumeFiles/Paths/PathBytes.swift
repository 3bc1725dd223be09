/// Paths as strings, which lose no byte.
///
/// A path of the system is any bytes. A byte that is not part of valid UTF-8 becomes a code point from U+F780 to U+F7FF,
/// which are private, and so does each byte of such a code point. The system gets the bytes again.
extension String {
    /// Makes a string from a path of the system.
    package init(systemPath path: UnsafePointer<CChar>) {
        if unsafe strchr(path, 0xEF) == nil, let plain = unsafe String(validatingCString: path) {
            self = plain
        } else {
            self.init(systemPath: unsafe Array(UnsafeRawBufferPointer(start: path, count: strlen(path))))
        }
    }

    /// Makes a string from the bytes of a path of the system.
    package init(systemPath bytes: [UInt8]) {
        // Most paths are what they are: such code points begin with this byte.
        let plain = bytes.contains(0xEF) ? nil : String(validating: bytes, as: UTF8.self)
        self = plain ?? ""
        var rest = plain == nil ? bytes[...] : []
        while let first = rest.first {
            if let plain = Self.scalar(at: rest) {
                unicodeScalars.append(plain)
                rest = rest.dropFirst(UTF8.width(plain))
            } else {
                rest = rest.dropFirst()
                guard let byte = Unicode.Scalar(0xF700 + UInt32(first)) else { continue }
                unicodeScalars.append(byte)
            }
        }
    }

    /// Returns the code point at the beginning of some bytes; nil if there is none, or if it stands for a byte.
    private static func scalar(at bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        for length in 1...4 {
            guard let text = String(validating: bytes.prefix(length), as: UTF8.self) else { continue }
            return text.unicodeScalars.first.flatMap { $0.pathByte == nil ? $0 : nil }
        }
        return nil
    }

    /// The bytes of a path for the system, with a 0 at the end.
    package var systemPath: [CChar] {
        // With this byte, all such code points begin.
        guard utf8.contains(0xEF) else { return Array(utf8CString) }
        var bytes: [UInt8] = []
        for scalar in unicodeScalars {
            if let byte = scalar.pathByte {
                bytes.append(byte)
            } else {
                bytes += String(scalar).utf8
            }
        }
        // In a name from a server, such code points may be what they are.
        guard String(systemPath: bytes).utf8.elementsEqual(utf8) else {
            return Array(utf8CString)
        }
        bytes.append(0)
        return bytes.map { CChar(bitPattern: $0) }
    }
}

extension Unicode.Scalar {
    /// The byte of a path that the code point stands for.
    package var pathByte: UInt8? {
        guard 0xF780...0xF7FF ~= value else { return nil }
        return UInt8(truncatingIfNeeded: value)
    }
}

extension Folder {
    /// Whether the user of the process may use a path in a way such as `R_OK`; by default, whether it exists.
    package static func isThere(_ path: String, _ use: Int32 = F_OK) -> Bool {
        unsafe access(path.systemPath, use) == 0
    }

    /// Returns where a symbolic link leads.
    package static func target(ofLink path: String) throws(SystemError) -> String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try SystemError.check("readlink", path) {
            unsafe readlink(path.systemPath, &target, target.count)
        }
        return String(systemPath: target.prefix(count).map { UInt8(bitPattern: $0) })
    }
}
