internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// The statuses a command ends with: sysexits, as the command line's contract has them.
public enum ExitStatus: Int32, Sendable {
    /// Done.
    case success = 0
    /// Refused for good, or nothing matched.
    case refused = 1
    /// Usage.
    case usage = 64
    /// The store is damaged.
    case damaged = 65
    /// No such store, entry or input file.
    case notFound = 66
    /// The destination cannot be written.
    case cannotCreate = 73
    /// Input or output error, or no space left.
    case io = 74
    /// Interrupted or unreachable for now; what came is kept.
    case tryAgain = 75
    /// Interrupted by the user.
    case interrupted = 130
}

/// A command's end that is not success: the status, and what to tell.
struct CommandFailure: Error {
    var status: ExitStatus
    /// Empty where everything was said already.
    var message: String
    /// Whether what came can be gone on with.
    var isResumable: Bool

    init(_ status: ExitStatus, _ message: String = "", isResumable: Bool? = nil) {
        self.status = status
        self.message = message
        self.isResumable = isResumable ?? (status != .refused)
    }

    /// Maps whatever a library throws to a status; the one place that does.
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
                case .inUse, .busy, .superseded, .heldBytesDiffer, .surplusBytes: .tryAgain
                default: .io
                }
            self.init(status, error.description)
        case let error as DownloadError:
            let status: ExitStatus =
                switch error.code {
                case .refused, .digestMismatch, .tooLarge: .refused
                // .unreachable, .unstable, .representationChanged
                default: .tryAgain
                }
            self.init(status, error.description, isResumable: error.isResumable)
        case is CancellationError:
            self.init(.interrupted, "interrupted")
        default:
            self.init(.io, "\(error)")
        }
    }
}
