internal import HTTPTypes
internal import ResumeHTTP

/// Comparing what is held with what the server has, where the server says nothing that could prove it.
extension FetchRun {
    /// Requests a few ranges again that are held, and compares them.
    ///
    /// - Parameters:
    ///   - plan: The request that is to follow.
    ///   - held: What it was made for.
    ///   - send: Makes a request.
    /// - Returns: Whether the plan is still to be carried out.
    /// - Throws: ``FetchError``, ``StoreError``, what `send` and its body threw last, `CancellationError`.
    mutating func agrees<Body: AsyncSequence>(
        before plan: Plan, held: HeldPartial, _ send: (HTTPFields) async throws -> (HTTPResponse, Body)
    ) async throws -> Bool where Body.Element: Sequence<UInt8> {
        guard let stored = held.representation else { return true }
        for check in SpotCheck.all(for: plan, held: held, policy: policy, seed: UInt64.random(in: .min ... .max)) {
            let (response, body): (HTTPResponse, Body)
            do {
                (response, body) = try await send(Plan.range(check.request).fields)
            } catch {
                try await follow(.body(received: 0, failed: true), failure: error)
                return false
            }
            let status = response.status.code
            switch SpotVerdict(for: response, to: check, stored: stored, policy: policy) {
            case .compare:
                if try await !agrees(check, with: body) { return false }
            case .askForWhole(let reason):
                try await follow(.askForWhole(reason), failure: FetchError(reason, status: status))
                return false
            case .retry(let reason, let seconds):
                let failure = FetchError(reason, status: status)
                try await follow(.retry(afterSeconds: seconds, failedRange: false), failure: failure)
                return false
            case .refuse(let reason):
                throw FetchError(reason, status: status)
            }
        }
        return true
    }

    private mutating func agrees<Body: AsyncSequence>(
        _ check: SpotCheck, with body: Body
    ) async throws -> Bool where Body.Element: Sequence<UInt8> {
        let count = Int(check.range.upperBound &- check.range.lowerBound)
        var sent: [UInt8] = []
        do {
            for try await part in body {
                sent.append(contentsOf: part)
                if sent.count >= count { break }
            }
        } catch {
            try await follow(.body(received: 0, failed: true), failure: error)
            return false
        }
        guard sent.count >= count else {
            let reason = Reason.spotCheckUnanswered
            try await follow(.askForWhole(reason), failure: FetchError(reason))
            return false
        }
        let held: [UInt8]
        do {
            held = try await transfer.read(check.range)
        } catch let error as StoreError where error.code == .heldBytesDiffer {
            // The disk did not keep it: it is fetched again before the delivery.
            return true
        }
        guard let reason = check.difference(between: held, and: sent) else { return true }
        try await transfer.discard(reason: reason)
        try await follow(.discarded, failure: FetchError(reason))
        return false
    }
}
