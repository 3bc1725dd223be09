import HTTPTypes
import ResumeHTTP
import ResumeStore

/// Adding requests.
extension DownloadQueue {
    /// Checks a request and returns what to add to the queue's state.
    ///
    /// Does not access the disk, so that requests are added in the order in which they arrive.
    func checked(
        _ request: DownloadRequest, caller: QueueState.Caller? = nil, priority: Priority,
        isExclusive: Bool = false
    ) throws -> QueueState.Addition {
        guard !state.isClosed else { throw DownloadError.queueClosed }
        let destination = try Destination(request.destination).path
        for delivery in state.items[request.storeKey]?.deliveries ?? [] {
            if let other = delivery.request { try request.requireAgreement(with: other) }
        }
        return QueueState.Addition(
            request: request, key: request.storeKey, destination: destination, caller: caller, priority: priority,
            isExclusive: isExclusive)
    }

    /// Adds checked requests.
    func take(_ additions: [QueueState.Addition]) {
        step { $0.add(additions) }
        for key in additions.map(\.key) {
            // Also one without a caller decides whom the present run answers.
            state.items[key]?.listeners.answersFirst(isOutdated(key))
            // The download already runs, so the delivered file must stay for the new destination.
            if state.items[key]?.work != nil { announceLater(for: key) }
        }
    }
}

extension DownloadError {
    static let queueClosed = DownloadError(.closed, Reason("queue-closed"))
    /// The download was cancelled in the queue.
    static let cancelledInQueue = DownloadError(.cancelled, Reason("cancelled-in-queue"))

    /// The request conflicts with another one for the same download.
    static func conflict(_ text: String) -> DownloadError {
        DownloadError(.conflict, Reason("conflict", with: text))
    }
}

extension DownloadRequest {
    /// Throws if a request asks for different bytes under the same key as another one.
    func requireAgreement(with other: DownloadRequest) throws(DownloadError) {
        let hasOtherDigest = digest != nil && other.digest != nil && digest != other.digest
        let hasOtherCoding = acceptEncoding.lowercased() != other.acceptEncoding.lowercased()
        guard hasOtherDigest || hasOtherCoding else { return }
        let difference = hasOtherDigest ? "a different digest" : "different content codings"
        throw DownloadError.conflict(sentence("conflicting-keys", StoreError.shown(storeKey), difference))
    }

    /// Whether another request would have had the same outcome: it sends the same to the same server, with the same
    /// limits.
    ///
    /// False for requests with closures, whose effect is unknown.
    func fares(like other: DownloadRequest) -> Bool {
        [self, other].allSatisfy { $0.refresh == nil && $0.permits == nil }
            && isSame(as: other) && headURL == other.headURL && digest == other.digest && condition == other.condition
            && allowsUnvalidated == other.allowsUnvalidated
            && acceptEncoding.lowercased() == other.acceptEncoding.lowercased()
            && retryPolicy == other.retryPolicy && stallTimeout == other.stallTimeout && stallBytes == other.stallBytes
            && maximumLength == other.maximumLength && waits == other.waits
    }

    /// Whether the result of another request for the same download and destination answers this one: the same was sent
    /// to the server, and the result is known to meet the conditions of this request.
    func isAnswered(by other: DownloadRequest) -> Bool {
        isSame(as: other) && permits == nil && (digest == nil || digest == other.digest)
            && (!restarts || other.restarts) && (allowsUnvalidated || !other.allowsUnvalidated)
            && other.maximumLength ?? .max <= maximumLength ?? .max
    }

    /// Whether the same request is sent to the server.
    private func isSame(as other: DownloadRequest) -> Bool {
        url == other.url && headerFields == other.headerFields && secretHeaderFields == other.secretHeaderFields
    }
}
