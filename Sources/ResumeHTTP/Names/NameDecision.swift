/// What a download does about what has the name of its destination: no file is replaced that this program has not
/// delivered, or that has changed since.
package enum NameDecision: Sendable, Hashable {
    /// Nothing has the name.
    case write
    /// It is this program's file, or the user has named it: it is replaced as long as it has this stamp.
    case replace(FileStamp)
    /// It has the digest that the caller names: nothing is requested.
    case keep(checkedAt: Int64)
    /// Only the bytes that the server sends can tell whose it is.
    case compare(size: Int64)
    /// The new file gets a number.
    case number
    case refuse(Refusal)

    /// What has the name.
    package enum Found: Sendable, Hashable {
        case nothing
        case file(FileStamp)
        /// A link or the like, with its own stamp.
        case other(FileStamp)

        /// The stamp of what has the name; nil if nothing does.
        package var stamp: FileStamp? {
            switch self {
            case .nothing: nil
            case .file(let stamp), .other(let stamp): stamp
            }
        }
    }

    /// Decides about a name.
    ///
    /// - Parameters:
    ///   - found: What has the name.
    ///   - own: The file that was delivered there, or that the user has named for this download; nil if there is none.
    ///   - digest: Whether it has the digest that the caller names; nil if the caller names none.
    ///   - part: What is downloaded if it is not the whole; it replaces no file of another length, which may be the
    ///     whole.
    ///   - renames: Whether the new file may get a number.
    package init(
        _ found: Found, own: FileStamp?, digest: InPlaceDigest?, part: RangeSelection? = nil, renames: Bool = false
    ) {
        let fits = part.map { $0.length(completeLength: nil) == found.stamp?.size } ?? true
        let own = fits ? own : nil
        switch (found, own) {
        case (.nothing, _): self = .write
        case (.other(let now), let recorded?) where now == recorded: self = .replace(now)
        case (.other, _): self = renames ? .number : .refuse(.otherKind)
        case (.file(let now), _):
            if case .right(let time)? = digest {
                self = .keep(checkedAt: time)
            } else if let own, now.isUnmodified(since: own) {
                // If it has another digest than the one named, it is damaged or an old version.
                self = .replace(now)
            } else if renames {
                self = .number
            } else {
                self = digest == nil ? .compare(size: now.size) : .refuse(.otherDigest)
            }
        }
    }

    /// The length up to which the whole file is compared with what the server sends.
    package static let comparedWhole: Int64 = 64 << 20

    /// How a file that only the server's bytes can identify is compared.
    package enum Comparison: Sendable, Hashable {
        /// With the bytes as they arrive; the first difference ends the download.
        case whole
        /// With samples, since fetching it only to compare it would take long.
        case samples
        case refuse(Refusal)

        /// Decides when the head of the response has arrived.
        ///
        /// - Parameters:
        ///   - size: The length of the file in place.
        ///   - length: The length of the server's file; nil if it is unknown.
        package init(size: Int64, length: Int64?) {
            switch length {
            case let length? where length != size: self = .refuse(.otherLength(size, length))
            case let length? where length > NameDecision.comparedWhole: self = .samples
            default: self = .whole
            }
        }
    }

    /// Why a file is not replaced.
    package enum Refusal: Sendable, Hashable {
        case otherKind, otherDigest
        /// Its length, and that of the server's file.
        case otherLength(Int64, Int64)
        /// The offset of the first difference.
        case differs(at: Int64)
        /// Samples agree, and nothing else shows that it is the server's file.
        case onlySampled
        /// It is large, and the server does not send samples of its file.
        case uncompared
        /// It appeared, or changed, since the download began.
        case appeared

        /// What is known of the file, as the end of a sentence.
        package var text: String {
            switch self {
            case .otherKind: sentence("name-other-kind")
            case .otherDigest: sentence("name-other-digest")
            case .otherLength(let size, let length): sentence("name-other-length", size, length)
            case .differs(let offset): sentence("name-differs", offset)
            case .onlySampled: sentence("name-only-sampled")
            case .uncompared: sentence("name-uncompared")
            case .appeared: sentence("name-appeared")
            }
        }

        /// Whether the file may be the server's, or its beginning, so that a download could continue it.
        package var mayContinue: Bool {
            switch self {
            case .otherLength(let size, let length): size > 0 && size < length
            case .onlySampled: true
            case .otherKind, .otherDigest, .differs, .uncompared, .appeared: false
            }
        }
    }
}
