internal import HTTPTypes
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// Decides what a download does about the file at its destination, and compares that with what the server sends.
final class NameGuard: Sendable {
    private struct State {
        /// The destination as it may be written.
        var admitted: Destination?
        var comparison: FileComparison?
    }

    private let request: DownloadRequest
    private let store: DownloadStore?
    private let state = Mutex(State())

    init(for request: DownloadRequest, in store: DownloadStore?) {
        self.request = request
        self.store = store
    }

    /// Whether only this program's files are replaced.
    var isGuarding: Bool { request.replacing != .asIfExists }

    /// The file that is compared with what the server sends; nil if there is none.
    var comparison: FileComparison? { state.withLock { $0.comparison } }

    /// Returns a destination as it may be written, if ``admit(_:)`` has decided about it.
    func admitted(_ destination: Destination) -> Destination {
        state.withLock { $0.admitted.map { $0.path == destination.path ? $0 : destination } ?? destination }
    }

    /// Decides about the file at a destination.
    ///
    /// - Returns: Whether it may be the delivered file that the request knows, so that a conditional request makes sense.
    /// - Throws: ``Kept`` if it has the digest that the caller names; `StoreError` with `destinationExists`.
    @discardableResult
    func admit(_ place: Destination) async throws -> Bool {
        var destination = place
        destination.isRecorded = isGuarding
        let found = destination.found
        var record = request.deliveredFile
        let isKnown = record != nil && (request.digest == nil || record?.digest != nil)
        if !isKnown, isGuarding, let now = found.stamp {
            record = try await store?.deliveredFile(at: place.path)?.own(now, for: request.url.redacted) ?? record
        }
        let digest = try await digest(of: place, found, record)
        if !isGuarding {
            if case .right(let time)? = digest { throw Kept(path: place.path, .right(checkedAt: time)) }
            if digest != nil, !place.replaces { throw place.isRefused(.otherDigest) }
            return digest == nil
        }
        let own = request.replacing == .any ? found.stamp : record?.stamp
        var comparison: FileComparison?
        switch NameDecision(found, own: own, digest: digest) {
        case .write: destination.replaces = false
        case .replace(let stamp): (destination.replaces, destination.onlyReplaces) = (true, stamp)
        case .keep(let time): throw Kept(path: place.path, .right(checkedAt: time))
        case .compare(let size):
            destination.replaces = false
            comparison = FileComparison(with: destination, size: size)
        case .number: throw destination.isRefused(.otherKind)
        case .refuse(let refusal): throw destination.isRefused(refusal)
        }
        state.withLock { $0 = State(admitted: destination, comparison: comparison) }
        return digest == nil
    }

    /// Whether a file has the digest that the caller names; nil if it names none, or if there is no file.
    private func digest(
        of place: Destination, _ found: NameDecision.Found, _ record: DeliveredFile?
    ) async throws -> InPlaceDigest? {
        guard let named = request.digest, !request.restarts, case .file(let now) = found else { return nil }
        let known = InPlaceDigest(
            named, proof: record?.proof, now: now, keepsChangeTime: place.keepsChangeTime)
        guard known == .unread else { return known }
        request.onCheck?(place.path, now.size)
        guard let read = try await place.digest(named.algorithm), read.stamp == now, let digest = read.digest else {
            return .wrong
        }
        guard digest == named else { return .wrong }
        // It is this program's from now on.
        var file = record ?? DeliveredFile(found: now)
        (file.stamp, file.digest, file.checkedAt, file.path) = (now, digest, WallClock.milliseconds, nil)
        try await store?.renew(file, at: place.path, from: request.url.redacted)
        return .right(checkedAt: 0)
    }

    /// Decides, when the head of a response has arrived, how the file in place is compared.
    ///
    /// - Parameter length: The length of the server's file; nil if it is unknown.
    /// - Returns: Whether samples are compared before anything is fetched.
    /// - Throws: `StoreError` with `destinationExists` if the lengths differ.
    func comparesSamples(of length: Int64?) throws -> Bool {
        guard let comparison else { return false }
        switch NameDecision.Comparison(size: comparison.size, length: length) {
        case .whole: return false
        case .samples: return true
        case .refuse(let refusal): throw comparison.destination.isRefused(refusal)
        }
    }
}

/// Thrown if the file at the destination is kept without a request.
struct Kept: Error {
    let path: String
    let reason: DownloadResult.Kept

    init(path: String, _ reason: DownloadResult.Kept) { (self.path, self.reason) = (path, reason) }
}

/// The name of the file, if the server may choose it, and what already has that name.
extension DownloadRun {
    /// Returns the file for a representation.
    func destination(for representation: Representation?) -> Destination {
        names.admitted(
            request.usesServerFilename ? destination.named(byServer: representation?.suggestedFilename) : destination)
    }

    /// Throws if the stored bytes could not be delivered under their name.
    ///
    /// Complete data is not checked here: its delivery detects whether the file was already delivered.
    func requireFreeNameOfHeld() async throws {
        let partial = await transfer.partial
        guard request.usesServerFilename, partial.access != .foreign, let held = partial.representation else { return }
        let isComplete = await transfer.isComplete
        if request.restarts || !isComplete || names.isGuarding { try await requireFree(destination(for: held)) }
        try await transfer.setDestination(destination(for: held))
    }

    /// Throws if a response could not be delivered under its name, before anything is discarded for it.
    ///
    /// - Parameters:
    ///   - representation: The representation that the response has.
    ///   - isNew: Whether the server may have named it otherwise than before.
    /// - Throws: `StoreError` with `destinationExists`; the errors of requests.
    func requireName(of representation: Representation, isNew: Bool) async throws {
        if request.usesServerFilename, isNew { try await requireFree(destination(for: representation)) }
        let length = request.selection == nil ? representation.completeLength : await transfer.partial.totalLength
        guard try names.comparesSamples(of: length), let comparison = names.comparison else { return }
        throw comparison.destination.isRefused(try await refusal(after: comparison, of: representation))
    }

    private func requireFree(_ destination: Destination) async throws {
        if names.isGuarding {
            _ = try await names.admit(destination)
        } else {
            try await Blocking.run { try destination.requireFree() }
        }
    }

    /// Compares samples of a large file in place, which is not replaced whatever they show.
    private func refusal(
        after comparison: FileComparison, of representation: Representation
    ) async throws -> NameRefusal {
        let seed = request.sampleSeed ?? UInt64.random(in: .min ... .max)
        var run = self
        var course = SampleCourse(
            SampleGrid(over: [0..<comparison.size], seed: seed), of: representation, isProved: true,
            policy: await policy)
        while case .send(let requests) = course.next() {
            for answer in try await run.answers(to: requests, { try await $0.response(to: $1) }) {
                guard case .read = course.receive(answer.head, to: answer.request) else { return .uncompared }
                let parts = answer.request.parts(of: answer.response.body, after: answer.head)
                for range in answer.request.ranges {
                    guard let sent = parts.lazy.compactMap({ $0.bytes(in: range) }).first else { continue }
                    let same = try await Blocking.run { try comparison.destination.read(range) }
                    if let offset = zip(same, sent).enumerated().first(where: { $0.1.0 != $0.1.1 })?.offset {
                        return .differs(at: range.lowerBound &+ Int64(offset))
                    }
                }
                course.agree(on: answer.request.ranges, of: answer.request)
            }
        }
        return .onlySampled
    }
}
