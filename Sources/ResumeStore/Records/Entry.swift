public import ResumeHTTP

extension DownloadStore {
    /// A download in the store.
    public struct Entry: Sendable, Hashable {
        package enum State: String, Sendable, Hashable {
            /// Bytes are or may be missing.
            case partial
            /// All bytes are stored but not delivered; no request is needed.
            case complete
        }

        /// A part of the stored bytes.
        package struct Chunk: Sendable, Hashable {
            /// The path of the file, relative to the store.
            package var path: String
            /// The offset of the part in the file, which contains the representation or the requested ranges of it.
            package var offset: Int64
            /// The number of bytes that survive a crash of the process.
            package var length: Int64
            /// The number of bytes that survive a power failure.
            package var durable: Int64
            /// The digest that alone proves the bytes, as in a Repr-Digest field; nil if they need none.
            var mark: String?
        }

        /// What exists from the first response on.
        package struct Content: Sendable, Hashable {
            /// A random number that changes with each blob and when bytes are discarded.
            ///
            /// A writer with another generation must no longer change the entry. The rows of a store have no 0.
            let generation: Int64
            /// The boot of the machine during which the bytes were received.
            let bootID: String
            /// The representation that the bytes belong to.
            var representation: Representation
            package var state = State.partial
            /// The stored parts, in the order of their offsets.
            package var chunks: [Chunk] = []
            /// Whether the length of the blob counts in addition to the rows of its parts.
            ///
            /// It does if one stream has written the whole blob, in order, during the current boot of the machine.
            var grows = false
            /// If the first bytes were received by another program, how many samples of them agreed with the server's
            /// file.
            ///
            /// 0 before samples were compared; nil if all bytes were received by this program.
            var agreedSamples: Int?
        }

        /// What the server has reported against the stored bytes, or refuses, since it last confirmed them.
        package struct Objections: Sendable, Hashable {
            /// Since when it has reported that the resource does not exist (404, 410), in milliseconds since 1970.
            package var goneAt: Int64?
            /// The responses that contradicted the stored file.
            var sightings: Sightings?
            /// The size of the ranges with an end that it sends although it refuses those without one.
            var boundedRange: Int64?
        }

        /// In milliseconds since 1970.
        package struct Times: Sendable, Hashable {
            package var created: Int64
            /// The time of the last use.
            package var used: Int64
        }

        /// The row's ID, which is never reused.
        package var id: Int64
        /// The request that the bytes were fetched with.
        var requester: Requester

        /// The key of the download: by default its URL without signature.
        public var key: String
        /// The number of the variant of its download: 1, or another one that the server sent for a different request.
        package var variant: Int
        /// The last requested URL, without user info and signature.
        public var url: String
        /// The requested ranges of the representation; nil for all of it.
        package var selection: RangeSelection?
        /// What is stored; nil before the first response.
        package var content: Content?
        /// The destination of the download, if it is known.
        public var destination: String?
        /// Whether the collector keeps it.
        public var isPinned: Bool
        package var times: Times
        package var objections = Objections()
        /// Whether it is currently in use.
        public var isInUse: Bool

        /// The generation of the content; 0 before the first response.
        package var generation: Int64 { content?.generation ?? 0 }
        package var representation: Representation? { content?.representation }
        package var state: State { content?.state ?? .partial }
        package var chunks: [Chunk] { content?.chunks ?? [] }
        var agreedSamples: Int? { content?.agreedSamples }
        var grows: Bool { content?.grows == true }

        /// The name of its download, which is the same for all variants.
        package var name: String { Variant.name(key, variant) }

        /// The number of stored bytes, as last recorded.
        ///
        /// Bytes that a process had written before it crashed are found when the download is opened again, so that it
        /// may continue from a later byte.
        public var receivedBytes: Int64 { chunks.heldBytes }

        /// The number of stored bytes that survive a power failure.
        public var durableBytes: Int64 { chunks.durable.heldBytes }

        /// The number of requested bytes, of the whole file or of the ranges; nil if it is unknown.
        public var totalBytes: Int64? { held.totalLength }

        /// Whether the next request can be for the remaining bytes only.
        public var isResumable: Bool {
            state == .complete || agreedSamples != nil
                || representation?.validator != nil
        }

        package var held: HeldPartial { held(upTo: chunks.contiguousEnd) }

        /// The same with a given number of contiguous bytes and the caller's access to them.
        func held(upTo end: Int64, _ access: HeldPartial.Access = .granted) -> HeldPartial {
            HeldPartial(
                representation: representation, length: end, nextHeld: chunks.nextHeld(after: end),
                selection: selection,
                access: access, isUnproved: agreedSamples == 0)
        }

        package var blobName: BlobName? { chunks.first.flatMap { BlobName(path: $0.path) } }

        /// The part that is written next.
        var part: PartReference { part(at: chunks.current?.offset ?? 0) }

        /// The number of requested bytes of a representation; nil if it is not known.
        func length(of representation: Representation) -> Int64? {
            HeldPartial(representation: representation, length: 0, selection: selection).totalLength
        }

        func part(at offset: Int64) -> PartReference { PartReference(id: id, generation: generation, offset: offset) }

        /// Creates a unique generation.
        static func newGeneration() -> Int64 { Int64.random(in: 1...Int64.max) }
    }
}

extension Int64 {
    /// Returns the sum, or the nearest possible number if it overflows.
    package func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension Sequence {
    /// Returns the sum of a number of each element, or the nearest possible number if it overflows.
    package func sum(_ number: (Element) -> Int64) -> Int64 { reduce(0) { $0.addingSaturating(number($1)) } }
}

extension DownloadStore {
    /// An event of a download, recorded for users.
    public struct Event: Sendable, Hashable {
        /// The kind of event.
        @nonexhaustive
        public enum Kind: String, Sendable, Hashable {
            /// A download began without stored bytes.
            case started
            /// A download was resumed.
            case resumed
            /// A download started over although bytes were stored.
            case restarted
            /// A download ended early; the received bytes are kept.
            case interrupted
            /// A queue or a task paused a download; the received bytes are kept.
            case paused
            /// A download was cancelled; the received bytes are kept.
            case cancelled
            /// A response was refused.
            case refused
            /// A download was delivered to its destination.
            case delivered
            /// The collector removed a download.
            case evicted
            /// A user or program removed a download, for example by a cancellation that discards the received bytes.
            case purged
            /// Part of a download was discarded, since it was damaged on disk.
            case damaged
        }

        /// The download's key.
        public var key: String
        /// The time, in milliseconds since 1970.
        package var at: Int64
        /// The kind of event.
        public var kind: Kind
        /// The reason.
        public var reason: Reason
        /// The number of bytes that were stored, kept, freed or delivered.
        public var bytes: Int64
        /// The destination of the job of `resumectl` that has to start over after a removal; nil if there is none.
        package var jobDestination: String?
    }

    /// The totals of a store, which are available without scanning it.
    public struct Totals: Sendable, Hashable {
        /// The number of entries.
        public var entries: Int64
        /// The number of bytes of all entries.
        public var receivedBytes: Int64
    }
}

package typealias Entry = DownloadStore.Entry
package typealias Event = DownloadStore.Event
package typealias Totals = DownloadStore.Totals

/// A new entry, so that there are no stored bytes to check.
struct Fresh {
    let entry: Entry
    let lease: Lease
}
