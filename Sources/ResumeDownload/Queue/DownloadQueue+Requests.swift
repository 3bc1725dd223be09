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
        let key = request.storeKey
        for other in live[key]?.deliveries.values.compactMap(\.request) ?? [] {
            try request.requireAgreement(with: other)
        }
        return QueueState.Addition(key, to: destination, caller: caller, priority: priority, isExclusive: isExclusive)
    }

    /// Adds checked requests.
    func take(_ requests: [(DownloadRequest, QueueState.Addition)]) {
        step { $0.add(requests.map(\.1)) }
        for (request, addition) in requests {
            if let delivery = number(of: addition) { give(request, to: delivery, of: addition.key) }
            // Also one without a caller decides whom the present run answers.
            live[addition.key]?.listeners.answersFirst(isOutdated(addition.key))
            // The download already runs, so the delivered file must stay for the new destination.
            if live[addition.key]?.task != nil { announceLater(for: addition.key) }
        }
    }

    /// Returns the number of the delivery that a request is for.
    func number(of addition: QueueState.Addition) -> Int? {
        state.items[addition.key].flatMap { item in
            item.index(of: addition.destination).map { item.deliveries[$0].number }
        }
    }

    /// Sets the request of a delivery; the old digest and rate limit stay if the new request has none.
    func give(_ request: DownloadRequest, to number: Int, of key: String) {
        var item = live[key] ?? Live(url: request.url.redacted)
        let known = item.deliveries[number]?.request
        var request = request
        request.digest = request.digest ?? known?.digest
        request.rateLimit = request.rateLimit ?? known?.rateLimit
        item.url = request.url.redacted
        item.deliveries[number, default: LiveDelivery()].request = request
        item.deliveries[number]?.version += 1
        item.failure = nil
        item.limit()
        live[key] = item
    }

    /// Forgets the data of a removed delivery.
    func forget(_ delivery: Int, of key: String) {
        if let row = live[key]?.deliveries.removeValue(forKey: delivery)?.row?.id { removals.insert(row) }
        live[key]?.limit()
    }
}

extension DownloadRequest {
    /// Throws if a request asks for different bytes under the same key as another one.
    func requireAgreement(with other: DownloadRequest) throws(DownloadError) {
        let hasOtherDigest = digest != nil && other.digest != nil && digest != other.digest
        let hasOtherCoding = acceptEncoding.lowercased() != other.acceptEncoding.lowercased()
        guard hasOtherDigest || hasOtherCoding else { return }
        throw DownloadError.conflict(
            "the download of \(StoreError.shown(storeKey)) is already requested with "
                + (hasOtherDigest ? "a different digest" : "different content codings")
                + ". Set a separate key for one of them.")
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
