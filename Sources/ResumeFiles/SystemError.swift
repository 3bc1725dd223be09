/// A system call that failed.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The code `errno`.
    public var number: Int32
    /// The call's name.
    public var call: String
    /// The file's name.
    public var path: String

    package init(number: Int32, call: String, path: String) {
        self.number = number
        self.call = call
        self.path = path
    }

    /// What failed and why, in the system's words.
    public var description: String {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        return "\(call) failed for \(path): \(reason)"
    }

    /// `ENOSPC`, `EDQUOT` or `EFBIG`.
    public var isOutOfSpace: Bool { [ENOSPC, EDQUOT, EFBIG].contains(number) }

    /// `EACCES`, `EPERM` or `EROFS`: who asked may not.
    package var isRefused: Bool { [EACCES, EPERM, EROFS].contains(number) }

    package var isMissing: Bool { number == ENOENT }

    /// Calls until it is not interrupted by a signal.
    ///
    /// - Parameters:
    ///   - call: The call's name, for the error.
    ///   - path: What it is about, for the error.
    ///   - body: The call; -1 means failure, with the reason in `errno`.
    /// - Returns: What the call returned.
    /// - Throws: ``SystemError`` with what `errno` says.
    @discardableResult
    package static func check<Number: FixedWidthInteger & SignedInteger>(
        _ call: String, _ path: String, _ body: () -> Number
    ) throws(SystemError) -> Number {
        while true {
            let result = body()
            if result != -1 { return result }
            let number = errno
            if number != EINTR { throw SystemError(number: number, call: call, path: path) }
        }
    }
}
