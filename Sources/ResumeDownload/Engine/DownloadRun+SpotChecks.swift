internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// Comparing what is held with what the server has, where the server says nothing that could prove it.
extension DownloadRun {
    /// Requests a few ranges again that are held, and compares them.
    ///
    /// - Parameter plan: The request that is to follow.
    /// - Returns: What to do in place of the plan; nil to carry it out.
    /// - Throws: `TransportError`, ``DownloadError``, `CancellationError`
    mutating func spotCheck(before plan: Plan) async throws -> Step? {
        let (partial, policy) = (await transfer.partial, await transfer.policy)
        guard let stored = partial.representation else { return nil }
        let seed = request.spotCheckSeed ?? UInt64.random(in: .min ... .max)
        for check in SpotCheck.all(for: plan, held: partial, policy: policy, seed: seed) {
            let response = try await send(.range(check.request))
            let verdict = SpotVerdict(for: response.head, to: check, stored: stored, policy: policy)
            if verdict != .compare { response.body.cancel(with: CancellationError()) }
            switch verdict {
            case .compare:
                if let step = try await compare(check, with: response.body) { return step }
            case .askForWhole(let reason):
                try await transfer.note(reason)
                return .askForWhole(reason)
            case .retry(let reason, let seconds):
                return .retry(reason, afterSeconds: seconds, status: response.head.status.code)
            case .refuse(let reason):
                return try await refused(by: response.head, because: reason, isEmpty: false)
            }
        }
        return nil
    }

    private mutating func compare(_ check: SpotCheck, with body: any ResponseBody) async throws -> Step? {
        let count = Int(check.range.upperBound - check.range.lowerBound)
        let bytes = try await read(count, from: body)
        self.count(Int64(bytes.count))
        guard bytes.count >= count else {
            try await transfer.note(.spotCheckUnanswered)
            return .askForWhole(.spotCheckUnanswered)
        }
        let held: [UInt8]
        do {
            held = try await transfer.read(check.range)
        } catch let error as StoreError where error.code == .heldBytesDiffer {
            // The disk did not keep it: it is fetched again before the delivery.
            return nil
        }
        return check.difference(between: held, and: bytes).map { .discard($0) }
    }

    /// Reads a short body to its end, or to the first byte that is not wanted.
    ///
    /// - Parameters:
    ///   - count: How many bytes are wanted.
    ///   - body: The body.
    /// - Returns: Fewer where it ended sooner by its framing.
    /// - Throws: `TransportError` where it was cut or stalled; `CancellationError`.
    private func read(_ count: Int, from body: any ResponseBody) async throws -> [UInt8] {
        let received = Mutex<[UInt8]>([])
        let monitor = StallMonitor(
            seconds: request.boundedStallTimeout, minimumBytes: request.stallBytes, authority: request.url.authority,
            clock: request.clock)
        let pace = RatePace(request.rateLimiters)
        let isSurplus = try await monitor.watching(body) {
            try await withTaskCancellationHandler {
                monitor.resume()
                return try await body.read { bytes in
                    monitor.pause(receiving: bytes.byteCount)
                    defer { monitor.resume() }
                    _ = pace.allowsMore(after: bytes.byteCount)
                    return received.withLock { received in
                        unsafe bytes.withUnsafeBytes { unsafe received.append(contentsOf: $0) }
                        return received.count <= count
                    }
                }
            } onCancel: {
                body.cancel(with: CancellationError())
            }
        }
        if isSurplus { body.cancel(with: CancellationError()) }
        monitor.pause()
        try await pace.wait()
        return received.withLock { Array($0.prefix(count)) }
    }
}
