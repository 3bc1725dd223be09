internal import ResumeFiles
public import ResumeHTTP

/// One download as the store holds it.
public struct Entry: Sendable, Hashable {
    /// Whether bytes are missing.
    public enum State: String, Sendable, Hashable {
        /// Bytes are missing, or may be.
        case partial
        /// Everything is there and not delivered yet: no request is needed.
        case complete
    }

    /// A part of the bytes held.
    public struct Chunk: Sendable, Hashable {
        /// The file, relative to the store.
        public var path: String
        /// Where in the file the part begins: in the representation, or in what is wanted of it.
        public var offset: Int64
        /// How many bytes survive the process.
        public var length: Int64
        /// How many bytes survive a power loss.
        public var durable: Int64
    }

    /// The row's number: never used twice.
    package var id: Int64
    /// Random, and new with each blob and whenever bytes were given up; 0 before the first response.
    ///
    /// A writer that knows another one has lost the entry.
    package let generation: Int64
    /// Under which start of the machine the bytes were received.
    let bootID: String
    /// For whom the bytes were fetched.
    var requester: Requester

    /// What names the download: by default its URL, without what signs it.
    public var key: String
    /// Which of the representations of its download it is: 1, or one that the server sent to another request.
    public var variant: Int
    /// The URL it was last asked for by, without user info and signature.
    public var url: String
    /// What of the representation is wanted; nil for all of it.
    public var selection: RangeSelection?
    /// What the bytes belong to; nil before the first response.
    public var representation: Representation?
    /// Whether bytes are missing.
    public var state: State
    /// The parts held, in order of their offsets.
    public var chunks: [Chunk]
    /// Where the download is to be delivered, if that was said.
    public var destination: String?
    /// Whether the collector passes it over.
    public var isPinned: Bool
    /// When it was made, in milliseconds since 1970.
    public var createdAt: Int64
    /// When it was last worked on, in milliseconds since 1970.
    public var usedAt: Int64
    /// Since when the server says that there is no such resource (404, 410), in milliseconds since 1970; nil where it
    /// has not said so last.
    public var goneAt: Int64?
    /// Whether somebody works on it at this moment.
    public var isInUse: Bool
    /// Whether the length of the blob counts, not only the rows of its parts: one stream has written all of it, in order,
    /// since this start of the machine.
    var grows = false

    /// What names its download, whichever variant it is.
    package var name: String { Variant.name(key, variant) }

    /// How many bytes are held and survive the process.
    public var receivedBytes: Int64 { chunks.heldBytes }

    /// How many bytes are held and survive a power loss.
    public var durableBytes: Int64 { chunks.durable.heldBytes }

    /// How many bytes are wanted, all or those of the ranges; nil where that is not known.
    public var totalBytes: Int64? { held.totalLength }

    /// Whether the next request can ask for the rest only.
    public var isResumable: Bool {
        state == .complete || (representation?.validator != nil && representation?.acceptsRanges == true)
    }

    /// What the next request depends on.
    public var held: HeldPartial { held(upTo: chunks.contiguousEnd) }

    /// The same, where so many bytes are held from the first one on by now, for a caller who may have it, or not yet.
    func held(upTo end: Int64, _ access: HeldPartial.Access = .granted) -> HeldPartial {
        HeldPartial(
            representation: representation, length: end, nextHeld: chunks.nextHeld(after: end), selection: selection,
            access: access)
    }

    /// The part that is written next.
    var part: PartReference {
        PartReference(id: id, generation: generation, offset: chunks.current?.offset ?? 0)
    }

    /// A generation that nobody else has.
    static func newGeneration() -> Int64 { Int64.random(in: 1...Int64.max) }
}

extension Entry {
    /// A download of which there is no row.
    init(unclaimed name: String, _ caller: Caller, _ selection: RangeSelection?) {
        let now = WallClock.milliseconds
        self.init(
            id: 0, generation: 0, bootID: "", requester: .nobody, key: name, variant: 1, url: caller.url.redacted,
            selection: selection, representation: nil, state: .partial, chunks: [],
            destination: caller.destination?.path, isPinned: false, createdAt: now, usedAt: now, goneAt: nil,
            isInUse: true)
    }
}

extension Int64 {
    /// The sum, or the nearest number that there is.
    package func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

/// Something that happened to a download, kept for people to read.
public struct Event: Sendable, Hashable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable {
        /// A download began from nothing.
        case started
        /// It was continued.
        case resumed
        /// It began anew although bytes were held.
        case restarted
        /// It ended before everything was there; what came is kept.
        case interrupted
        /// A queue or a task paused it; what came is kept.
        case paused
        /// It was cancelled; what came is kept.
        case cancelled
        /// An answer was refused.
        case refused
        /// It was handed over to its destination.
        case delivered
        /// The collector took it away.
        case evicted
        /// A person or program took it away, such as by a cancellation that removes what came.
        case purged
        /// Part of it was given up, since the disk did not keep it.
        case damaged
    }

    /// The download's key.
    public var key: String
    /// When, in milliseconds since 1970.
    public var at: Int64
    /// What happened.
    public var kind: Kind
    /// Why.
    public var reason: Reason
    /// How many bytes it was about: held, kept, freed or delivered.
    public var bytes: Int64

    package init(key: String, at: Int64, kind: Kind, reason: Reason, bytes: Int64) {
        (self.key, self.at, self.kind, self.reason, self.bytes) = (key, at, kind, reason, bytes)
    }
}

/// The store's sums, kept without a scan.
public struct Totals: Sendable, Hashable {
    /// How many entries there are.
    public var entries: Int64
    /// How many bytes they hold.
    public var receivedBytes: Int64

    /// Makes sums.
    public init(entries: Int64, receivedBytes: Int64) {
        self.entries = entries
        self.receivedBytes = receivedBytes
    }
}
