import ResumeFiles
public import ResumeHTTP

/// The failure of a download.
///
/// The partial data is kept unless the reason says otherwise.
public struct DownloadError: Error, Sendable, Equatable {
    /// The kind of failure.
    ///
    /// New codes may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, stable from release to release.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server refused the request permanently or sent something else.
        public static let refused = Code(rawValue: "refused")
        /// The content does not have the expected digest.
        public static let digestMismatch = Code(rawValue: "digest-mismatch")
        /// No retries are left, or the server cannot be reached; running the download again later may help.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The server's content or validator changes between responses.
        public static let unstable = Code(rawValue: "unstable")
        /// The file exceeds the permitted length.
        public static let tooLarge = Code(rawValue: "too-large")
        /// The file was replaced after a reader of a `DownloadStream` had received bytes of the old version.
        public static let representationChanged = Code(rawValue: "representation-changed")

        /// The queue is closed; its unfinished downloads continue when it is opened again.
        public static let closed = Code(rawValue: "closed")
        /// The download was cancelled in its queue while this caller was waiting for it.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The request conflicts with another one for the same download in the queue.
        public static let conflict = Code(rawValue: "conflict")

        /// Whether the same request fails again until it, or the server, changes.
        package var isForGood: Bool { [.refused, .digestMismatch, .tooLarge].contains(self) }
    }

    /// The kind of failure.
    public var code: Code
    /// Why the download failed: a stable code and a text.
    public var reason: Reason
    /// The last HTTP status; nil if there was none.
    public var status: Int?
    /// The first bytes of the body of the response that refused a fetch, at most 64 KiB; empty if there are none.
    public internal(set) var body: [UInt8] = []
    /// The resume data of the download; nil if nothing was received or the download cannot be resumed.
    public package(set) var resumeData: ResumeData?
    /// The underlying error.
    public var cause: (any Error)?

    static let longestBody = 64 << 10

    /// Makes an error, such as that of a test double.
    public init(_ code: Code, _ reason: Reason, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
        self.cause = cause
    }

    /// Whether the download can be resumed, possibly with a fresh URL or other credentials, depending on ``status``.
    public var isResumable: Bool { resumeData != nil }

    /// Compares the codes and statuses.
    public static func == (left: DownloadError, right: DownloadError) -> Bool {
        left.code == right.code && left.status == right.status
    }
}

extension DownloadError {
    /// The error after too many restarts.
    static func unstable(_ last: Reason) -> DownloadError { DownloadError(.unstable, .unstable(last)) }
}

extension DownloadError: CustomStringConvertible {
    /// The reason in words.
    public var description: String { reason.text }
}

/// Why a request failed, according to the server's response.
package struct ResponseFailure: Error, Sendable, Hashable {
    package var reason: Reason
    /// The status of the response; nil if its body caused the failure.
    package var status: Int?
    /// How long the server asks to wait, in seconds; nil if it does not.
    package var afterSeconds: Int64?

    /// Creates an error.
    package init(_ reason: Reason, status: Int? = nil, afterSeconds: Int64? = nil) {
        self.reason = reason
        self.status = status
        self.afterSeconds = afterSeconds
    }

    /// The reason for giving up, which says until when the server asks to wait.
    package var lastReason: Reason {
        guard let afterSeconds, afterSeconds > 0 else { return reason }
        let time = WallClock.text(afterSeconds: afterSeconds)
        return Reason(code: reason.code, text: "\(reason.clause), and asks to wait until \(time)")
    }
}
