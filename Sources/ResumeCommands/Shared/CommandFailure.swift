import ResumeDownload
import ResumeHTTP
import ResumeStore

/// The exit statuses of commands, according to sysexits.
enum ExitStatus: Int32 {
    case success = 0
    /// Refused permanently, or nothing matched.
    case refused = 1
    case usage = 64
    case damaged = 65
    /// No such store, entry or input file.
    case notFound = 66
    /// The destination cannot be written.
    case cannotCreate = 73
    /// Input or output error, or no space left.
    case io = 74
    /// Interrupted or unreachable for now; the partial data is kept.
    case tryAgain = 75
    case interrupted = 130
    /// The reader of standard output ended first: what a shell reports after SIGPIPE.
    case outputClosed = 141
}

/// The failure of a command: the status and the message.
struct CommandFailure: Error {
    var status: ExitStatus
    /// The message; empty if everything has already been reported.
    var message: String
    /// Lines that follow the message.
    var details: [String] = []
    /// Whether the download can be resumed.
    var isResumable: Bool
    /// The reason in JSON of a download that is not started; nil if its URL is the problem.
    var reason: Reason.Code?

    init(_ status: ExitStatus, _ message: String = "", isResumable: Bool? = nil, reason: Reason.Code? = nil) {
        self.reason = reason
        self.status = status
        self.message = message
        self.isResumable = isResumable ?? (status != .refused)
    }

    mutating func add(_ sentence: String) { message += "\(message.hasSuffix(".") ? "" : ".") \(sentence)" }

    /// Maps any error to a status and a message.
    ///
    /// No other code does that.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure:
            self = failure
        case let error as StoreError:
            let status: ExitStatus =
                switch error.code {
                case .noStore, .noEntry: .notFound
                case .notAStore, .damaged, .newerStore: .damaged
                case let code where code.isOfDestination: .cannotCreate
                case .holdsMore: .refused
                case .inUse, .busy, .superseded, .overLimit, .heldBytesDiffer, .surplusBytes: .tryAgain
                default: .io
                }
            self.init(status, error.shown)
        case let error as DownloadError:
            let status: ExitStatus =
                switch error.code {
                case .refused, .digestMismatch, .tooLarge: .refused
                // .unreachable, .unstable, .representationChanged
                default: .tryAgain
                }
            // Some reasons say it themselves.
            let isKept = error.code == .refused && error.isResumable && !error.reason.facts.contains(.isKept)
            self.init(
                status, error.description + (isKept ? "; the partial data is kept" : ""),
                isResumable: error.isResumable)
        case is CancellationError:
            self.init(.interrupted, "interrupted")
        default:
            self.init(.io, "\(error)")
        }
    }
}
