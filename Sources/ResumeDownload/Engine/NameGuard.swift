import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// Decides what a download does about the file at its destination, and compares that with what the server sends.
final class NameGuard: Sendable {
    private let request: DownloadRequest
    private let store: DownloadStore?
    private var records: DeliveryRecords? { store.map { DeliveryRecords(of: $0) } }
    /// The path that was asked for, the destination as it may be written, and the file there if it is compared with what
    /// the server sends.
    private let state = Mutex<(asked: String?, admitted: Destination?, comparison: FileComparison?)>((nil, nil, nil))

    /// The paths that the server's names have become in this process, until the downloads end.
    private static let claims = Mutex<[String: ObjectIdentifier]>([:])

    init(for request: DownloadRequest, in store: DownloadStore?) {
        self.request = request
        self.store = store
    }

    deinit {
        guard request.usesServerFilename else { return }
        let own = ObjectIdentifier(self)
        Self.claims.withLock { claims in claims = claims.filter { $0.value != own } }
    }

    /// Claims a path for the server's name; returns false if another download has it.
    private func claim(_ path: String) -> Bool {
        let own = ObjectIdentifier(self)
        return Self.claims.withLock { claims in
            if claims[path] == nil { claims[path] = own }
            return claims[path] == own
        }
    }

    /// Whether only this program's files are replaced.
    var isGuarding: Bool { request.replacing != .asIfExists }

    /// The file that is compared with what the server sends; nil if there is none.
    var comparison: FileComparison? { state.withLock { $0.comparison } }

    /// Returns a destination as it may be written, if ``admit(_:)`` has decided about it.
    func admitted(_ destination: Destination) -> Destination {
        state.withLock { $0.asked == destination.path ? $0.admitted : nil } ?? destination
    }

    /// Decides about the file with the name that the server has chosen: that of another URL is kept, as is any with
    /// --auto-rename, and the new one gets a number.
    ///
    /// - Throws: ``Kept``; `StoreError` with `destinationExists`.
    func admitNumbered(_ named: Destination) async throws {
        var place = named
        var number = 0
        while true {
            do {
                // Another download may have claimed it and delivered a file in between.
                if try await !isOfOther(place), claim(place.path), try await !isOfOther(place) {
                    try await admit(place, renames: request.numbersServerFilename)
                    return state.withLock { $0.asked = named.path }
                }
            } catch let error as StoreError where error.code == .destinationExists && request.numbersServerFilename {}
            number += 1
            place = named.numbered(number)
        }
    }

    /// Whether a download of another URL has delivered a file.
    private func isOfOther(_ place: Destination) async throws -> Bool {
        guard request.replacing == .own, request.deliveredFile?.path != place.path, let now = place.found.stamp,
            let record = try await records?.record(at: place.path), record.url != request.url.redacted
        else { return false }
        return record.own(now, at: place, for: record.url) != nil
    }

    /// Decides about the file at a destination.
    ///
    /// - Parameters:
    ///   - place: The destination.
    ///   - renames: Whether the new file may get a number.
    /// - Returns: Whether it may be the delivered file that the request knows, so that a conditional request makes sense.
    /// - Throws: ``Kept`` if it has the digest that the caller names; `StoreError` with `destinationExists`.
    @discardableResult
    func admit(_ place: Destination, renames: Bool = false) async throws -> Bool {
        let found = place.found
        let (record, digest) = try await examine(place, found)
        if case .right(let time)? = digest { throw Kept(.right(checkedAt: time), at: place.path) }
        guard isGuarding else {
            if digest != nil, !place.replaces { throw place.isRefused(.otherDigest) }
            return digest == nil
        }
        var destination = place
        destination.isRecorded = true
        let replacesAny = request.replacing == .any
        var comparison: FileComparison?
        let own = found.stamp.flatMap { now in
            replacesAny ? now : record.map { place.comparable($0.stamp, with: now) }
        }
        let part = replacesAny ? nil : request.selection
        switch NameDecision(found, own: own, digest: digest, part: part, renames: renames) {
        case .write, .keep: destination.replaces = replacesAny
        case .number: throw destination.isRefused(.appeared)
        case .replace(let stamp): (destination.replaces, destination.onlyReplaces) = (true, replacesAny ? nil : stamp)
        case .compare(let size):
            destination.replaces = false
            comparison = FileComparison(with: destination, size: size)
        case .refuse(let refusal): throw destination.isRefused(refusal)
        }
        state.withLock { $0 = (place.path, destination, comparison) }
        return digest == nil
    }

    /// Finds out whether a file was delivered by this program, and has the digest that the caller names.
    ///
    /// - Returns: Its record; and nil instead of the digest if the caller names none that is a proof, or if there is no
    ///   file.
    func examine(
        _ place: Destination, _ found: NameDecision.Found
    ) async throws -> (record: DeliveredFile?, digest: InPlaceDigest?) {
        var record = request.deliveredFile
        var isDelivered = true
        // A job knows the status at the delivery; the record of the path is the newest.
        let isKnown = record != nil && (request.digest == nil || record?.digest != nil && record?.stamp == found.stamp)
        if !isKnown, isGuarding, let now = found.stamp, let known = try await records?.record(at: place.path),
            let own = known.own(now, at: place, for: request.url.redacted)
        {
            record = own
            isDelivered = own == known.file
        }
        guard let named = request.digest, !request.restarts, case .file(let now) = found else { return (record, nil) }
        var digest = InPlaceDigest(named, proof: record?.proof, now: now, keepsChangeTime: place.keepsChangeTime)
        if digest == .unread {
            request.onCheck?(place.path, now.size)
            let read = try await place.digest(named.algorithm)
            guard read?.stamp == now, read?.digest == named else { return (record, .wrong) }
            guard named.isProof else { return (record, nil) }
            // It is this program's from now on.
            var file = record ?? DeliveredFile(found: now)
            file.stamp = now
            file.digest = named
            file.checkedAt = WallClock.milliseconds
            file.path = nil
            try await records?.renew(file, at: place.path, from: request.url.redacted)
            digest = .right(checkedAt: 0)
            isDelivered = false
        }
        // What can be forged proves nothing: the server is asked.
        guard named.isProof || digest == .wrong else { return (record, nil) }
        // A delivery that was interrupted after the file got its name has left its row and its blob.
        if !isDelivered, digest != .wrong, let left = try? await store?.entry(for: request),
            left.destination == place.path, left.held.hasAllBytes
        {
            _ = try? await store.map { Collector($0) }?.purge(request, because: .deliveredBefore)
        }
        return (record, digest)
    }

    /// Decides, when the head of a response has arrived, how the file in place is compared.
    ///
    /// - Parameter length: The length of the server's file; nil if it is unknown.
    /// - Returns: The comparison, if samples are compared before anything is fetched.
    /// - Throws: `StoreError` with `destinationExists` if the lengths differ.
    func sampledComparison(of length: Int64?) throws -> FileComparison? {
        guard let comparison else { return nil }
        switch NameDecision.Comparison(size: comparison.size, length: length) {
        case .whole: return nil
        case .samples: return comparison
        case .refuse(let refusal): throw comparison.destination.isRefused(refusal)
        }
    }
}

/// Thrown if a file is kept: the one at the destination without a request, or after 304 the one that was delivered.
struct Kept: Error {
    let reason: DownloadResult.Kept
    let path: String?

    init(_ reason: DownloadResult.Kept, at path: String? = nil) { (self.reason, self.path) = (reason, path) }
}

/// The name of the file, if the server may choose it, and what already has that name.
extension DownloadRun {
    func destination(for representation: Representation?) -> Destination {
        names.admitted(named(by: representation))
    }

    private func named(by representation: Representation?) -> Destination {
        request.usesServerFilename ? destination.named(byServer: representation?.suggestedFilename) : destination
    }

    /// Throws if the stored bytes could not be delivered under their name.
    ///
    /// Complete data is not checked here: its delivery detects whether the file was already delivered.
    func requireFreeNameOfHeld() async throws {
        let partial = await transfer.partial
        guard request.usesServerFilename, partial.access != .foreign, let held = partial.representation else { return }
        let isComplete = await transfer.isComplete
        if request.restarts || !isComplete || names.isGuarding {
            try await requireFree(named(by: held))
        }
        try await transfer.setDestination(destination(for: held))
    }

    /// Throws if a response could not be delivered under its name, before anything is discarded for it.
    ///
    /// - Parameters:
    ///   - representation: The representation that the response has.
    ///   - isNew: Whether the server may have named it otherwise than before.
    /// - Throws: `StoreError` with `destinationExists`; the errors of requests.
    func requireName(of representation: Representation, isNew: Bool) async throws {
        if request.usesServerFilename, isNew { try await requireFree(named(by: representation)) }
        let length = request.selection == nil ? representation.completeLength : await transfer.partial.totalLength
        guard let comparison = try names.sampledComparison(of: length) else { return }
        let file = comparison.destination
        throw file.isRefused(try await samples(of: file, comparison.size, representation))
    }

    /// Decides about the server's name again before the delivery: another process may have delivered a file there.
    func confirmName(of whole: HeldPartial) async throws {
        if request.usesServerFilename, names.isGuarding { try await requireFree(named(by: whole.representation)) }
    }

    private func requireFree(_ destination: Destination) async throws {
        if names.isGuarding {
            try await names.admitNumbered(destination)
        } else {
            try await Blocking.run { try destination.requireFree() }
        }
    }

    /// Compares samples of a file in place with the server's representation of the same length.
    ///
    /// - Returns: Why a foreign file is not replaced, whatever they show.
    func samples(
        of file: Destination, _ size: Int64, _ representation: Representation
    ) async throws -> NameDecision.Refusal {
        var run = self
        var course = SampleCourse(
            SampleGrid(over: [0..<size], seed: request.sampleSeed), of: representation, isProved: true,
            policy: await transfer.policy)
        while let sample = course.next {
            let response = try await run.response(to: sample) { try await $0.response(to: $1) }
            switch course.receive(response.head, to: sample) {
            case .append:
                let bytes = try await Blocking.run { try file.read(sample.range) }
                let received = sample.bytes(of: response.body, after: response.head)
                if let offset = course.compare(sample, received, with: bytes) {
                    return .differs(at: offset)
                }
            case .retry(let reason, let seconds):
                throw RequestOutcome.retry(reason, afterSeconds: seconds, status: response.head.status.code)
            default: return .uncompared
            }
        }
        return if case .agree = course.verdict { .onlySampled } else { .uncompared }
    }
}
