public import HTTPTypes
public import ResumeHTTP

/// The steps of a request, for programs that issue each request themselves.
extension Transfer {
    /// What to do after the head of a response.
    @nonexhaustive
    public enum Step: Sendable, Hashable {
        /// Write the body with ``Transfer/write(_:)``, then call ``Transfer/endBody(_:)``.
        case writeBody
        /// The server confirms that no bytes are missing.
        case complete
        /// Request the whole file: pass the reason to ``Transfer/nextRequest(avoidingRange:)``.
        case requestWhole(Reason)
        /// Send the same request later, at the earliest after the delay that the server asked for, if it did.
        case retry(Reason, after: Duration?)
        /// The request is refused permanently.
        case fail(Reason)
    }

    /// Decides what to request next.
    ///
    /// - Parameter reason: Why the whole file is requested whatever is stored; nil to request the rest if possible.
    /// - Returns: The header fields to add to a GET request, such as `Range` and `If-Range` (RFC 9110, 13.1.5 and 14.2).
    public func nextRequest(avoidingRange reason: Reason? = nil) -> HTTPFields {
        let plan = plan(avoidsRange: reason)
        exchange.sent = plan
        return plan.fields
    }

    /// Evaluates the head of the response to the last ``nextRequest(avoidingRange:)``, after redirects.
    ///
    /// - Parameters:
    ///   - response: The status and the header fields.
    ///   - url: The URL that the response came from, after redirects; nil for the requested one. Without it, the store
    ///     cannot notice that the response is of another resource, and trusts an equal validator.
    /// - Returns: What to do. The body is written only after ``Step/writeBody``; otherwise discard it.
    /// - Throws: ``StoreError``: `noSpace` or `tooLarge` if the announced length does not fit, `superseded`, `io`.
    ///   Then the stored bytes are kept.
    public func receive(_ response: HTTPResponse, from url: DownloadURL? = nil) async throws -> Step {
        guard let plan = exchange.sent.take() else {
            throw StoreError(.misuse, "no request was planned for this response")
        }
        switch try await evaluate(response, to: plan, from: url) {
        case .omitsCondition: return .retry(.otherRequest, after: nil)
        // Nothing compares samples here. The whole file gets an entry of its own.
        case .compareSamples(let reason), .requestWhole(let reason): return .requestWhole(reason)
        case .wentBack: return .retry(.olderVersion, after: nil)
        case .judged(let verdict):
            try await prepare(for: verdict, of: response)
            return switch verdict {
            case .append, .startOver, .startRange: .writeBody
            case .complete: .complete
            case .askForWhole(let reason): .requestWhole(reason)
            case .retry(let reason, let seconds): .retry(reason, after: seconds.map { .seconds($0) })
            case .refuse(let reason): .fail(reason)
            }
        }
    }

    /// Ends a body.
    ///
    /// A `Content-Digest` is not compared here: if it does not match the body, call ``discard(reason:)`` instead.
    ///
    /// - Parameter ending: How the body ended.
    /// - Returns: Whether every byte of the complete length is stored now.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: BodyEnding) async throws -> Bool {
        do {
            return try await finishBody(ending)
        } catch is RequestOutcome {
            // The body was too short to be believed.
            return false
        }
    }

    // MARK: The requests of a transfer

    /// The origin of the next request.
    var origin: String { caller.url.origin }

    /// Decides what to request next.
    ///
    /// - Parameter avoidsRange: Why the whole file is requested whatever is stored; nil to request the rest if
    ///   possible.
    /// - Returns: What to request, with the header fields to send.
    package func plan(avoidsRange: Reason? = nil) -> Plan {
        let avoidsRange = avoidsRange ?? (exchange.bodies.asksForWhole ? .gapNotCompared : nil)
        let plan = Plan(for: partial, policy: policy, avoidsRange: avoidsRange)
        // Samples would be compared of bytes that are gone.
        guard passesOn, case .range(let next) = plan, next.validator == nil || isMoved else { return plan }
        return Plan(for: partial, policy: policy, avoidsRange: .sentAgain)
    }
}
