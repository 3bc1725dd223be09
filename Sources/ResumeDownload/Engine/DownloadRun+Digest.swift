import ResumeHTTP
import ResumeStore

extension DownloadRun {
    /// The digest of the stored bytes.
    struct Digest {
        /// What follows if it is not the expected one.
        var course = DigestCourse()
        var known = Known.unknown

        var running: RunningDigest? { if case .running(let digest) = known { digest } else { nil } }

        enum Known {
            case unknown
            case running(RunningDigest)
            /// It is not the expected one.
            case wrong(HTTPDigest)
        }
    }

    /// Verifies the bytes that were stored before this run; if some are damaged, they are requested again.
    mutating func confirm() async throws -> Bool {
        if try await transfer.confirmHeld() { return true }
        digest.known = .unknown
        if let damage = await transfer.damage { onEvent(.damaged(reason: damage)) }
        return false
    }

    /// The digest that the file must have: the caller's, or else the one that the server announced; nil if there is
    /// none.
    var expectedDigest: HTTPDigest? {
        get async {
            if let digest = request.digest { return digest }
            guard comparesDigest else { return nil }
            return HTTPDigest(field: await transfer.partial.representation?.reprDigest)
        }
    }

    /// Compares the stored bytes with the expected digest, if there is one.
    ///
    /// - Returns: False if the server must be asked again: for the whole file if the bytes may be wrong, otherwise
    ///   whether it has the same bytes.
    /// - Throws: `DownloadError` if the digest is wrong; `StoreError`.
    mutating func checkDigest() async throws -> Bool {
        guard let expected = await expectedDigest else { return true }
        let wrong: HTTPDigest
        if case .wrong(let known) = digest.known {
            wrong = known
        } else {
            var running = digest.running
            if running?.algorithm != expected.algorithm {
                running = RunningDigest(expected.algorithm, of: await transfer.heldBytes)
            }
            let found = try await running?.finish(at: await transfer.partial.length)
            if found == expected {
                await transfer.prove(by: expected)
                return true
            }
            wrong = found ?? expected
            digest.known = .wrong(wrong)
        }
        // Samples do not prove that the server has exactly these bytes.
        let hasSamples = await transfer.agreedSamples != nil
        let isProved = await transfer.partial.representation?.validator != nil && !hasSamples
        let isNamed = request.digest != nil
        let step = digest.course.next(isNamed: isNamed, isMarked: await transfer.isMarked, isProved: isProved)
        let isKept = !transfer.isInMemory && step != .fetchAgain
        let rest = Reason.rest(isKept: isKept, isPassedOn: request.isPassedOn && step != .fetchAgain)
        var reason =
            isNamed
            ? Reason.digestMismatch(expected, wrong, rest)
            : hasSamples ? .namedDigestMismatch : .announcedDigestMismatch
        switch step {
        case .ask:
            try await transfer.note(.digestToBeConfirmed)
            await transfer.requireConfirmation()
        case .fetchAgain:
            try await transfer.refuse(expected, because: reason)
            try await transfer.startBeside(because: reason, forgetsLength: !isLengthVerified)
            discarded(because: reason)
        case .giveUp, .refuse:
            if !isNamed, isKept { reason.text += "; \(rest)" }
            try await transfer.refuse(expected, because: reason)
            throw DownloadError(.digestMismatch, reason)
        }
        return false
    }

    /// Fetches the file again beside the stored one if the caller insists on a digest that the stored bytes do not
    /// match.
    mutating func fetchRefusedAgain() async throws -> Bool {
        guard try await transfer.insist(unless: digest.course.isOfOneResponse) else { return false }
        digest.course.hasResponse = false
        discarded(because: .digestInsisted)
        return true
    }
}
