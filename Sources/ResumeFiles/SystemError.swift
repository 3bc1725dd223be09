/// A system call that failed.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The value of `errno`.
    package var number: Int32
    /// The name of the call.
    package var call: String
    /// The path of the file.
    package var path: String

    package init(number: Int32, call: String, path: String) {
        self.number = number
        self.call = call
        self.path = path
    }

    /// What failed and why, in the system's words.
    package var description: String { "\(call) failed for \(path): \(Self.reason(number))" }

    /// Returns the meaning of an error number in the system's words.
    package static func reason(_ number: Int32) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    /// Whether the error is `ENOSPC`, `EDQUOT` or `EFBIG`.
    package var isOutOfSpace: Bool { [ENOSPC, EDQUOT, EFBIG].contains(number) }

    /// Whether the error is `EACCES`, `EPERM` or `EROFS`: the process lacks the permission.
    package var isRefused: Bool { [EACCES, EPERM, EROFS].contains(number) }

    package var isMissing: Bool { number == ENOENT }

    /// Repeats a call until it is not interrupted by a signal.
    ///
    /// - Parameters:
    ///   - call: The name of the call, for the error.
    ///   - path: The path of the file, for the error.
    ///   - body: The call; it returns -1 on failure, with the reason in `errno`.
    /// - Returns: The result of the call.
    /// - Throws: ``SystemError`` with the value of `errno`.
    @discardableResult
    package static func check<Number: FixedWidthInteger & SignedInteger>(
        _ call: String, _ path: @autoclosure () -> String, _ body: () -> Number
    ) throws(SystemError) -> Number {
        while true {
            let result = body()
            if result != -1 { return result }
            let number = errno
            if number != EINTR { throw SystemError(number: number, call: call, path: path()) }
        }
    }
}
