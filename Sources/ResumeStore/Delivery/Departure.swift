import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// What is recorded of a download that leaves the store.
struct Departure: Sendable {
    /// The log events, including the start of the download if it had no row before.
    let events: [Event]
    /// The rows of queues that it fulfils.
    let rows: [QueuedRow]
    /// The destination, or a word for memory.
    let place: String
    let url: String
    /// Whether the file is recorded as one of this program.
    let isRecorded: Bool
    /// Whether all bytes are known to belong to one representation.
    let isProved: Bool
    /// The digest that the file was found to have; nil if none was compared.
    let digest: HTTPDigest?
    /// Makes the record by which a later run recognizes the file.
    let text: @Sendable (FileStatus) -> DeliveryText

    var needsFile: Bool { isRecorded || !rows.isEmpty }

    /// Records the file before it gets its name.
    func announce(_ file: DeliveryText, _ connection: borrowing Connection) throws {
        try connection.announceDelivery(of: file, at: place, from: url)
    }
}

extension Connection {
    /// Records deliveries.
    borrowing func record(_ departures: [(departure: Departure, file: DeliveryText?)]) throws {
        let now = WallClock.milliseconds
        try record(
            departures.flatMap(\.departure.events).map { event in
                var event = event
                // Copying the file may have taken long, and the order of the events counts.
                if event.kind == .delivered { event.at = now }
                return event
            })
        for (departure, file) in departures {
            for row in departure.rows {
                try fulfil(row, with: departure.isProved ? file : nil, at: departure.place)
            }
            if let file, departure.isRecorded {
                try recordDelivery(of: file, at: departure.place, from: departure.url)
            }
        }
    }
}

extension Transfer {
    /// Returns what is recorded when the download leaves the store.
    ///
    /// - Parameters:
    ///   - destination: The destination; nil for memory.
    ///   - rows: The rows of queues that it fulfils.
    ///   - isProved: Whether all bytes are known to belong to one representation, so that the file has its validators.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    /// - Returns: What is recorded.
    func departure(
        to destination: Destination?, fulfilling rows: [QueuedRow] = [], isProved: Bool = true,
        _ digest: HTTPDigest? = nil
    ) -> Departure {
        let place = destination?.path ?? "memory"
        let started = isClaimed ? nil : startReason
        let events = [
            started.map { Event(key: entry.key, at: entry.createdAt, kind: .started, reason: $0, bytes: 0) },
            Event(
                key: entry.key, at: WallClock.milliseconds, kind: .delivered,
                reason: .delivered(to: place, isProved: isProved), bytes: held),
        ].compactMap { $0 }
        let representation = isProved ? entry.representation : nil
        let requester = isProved ? requester(for: representation).code : nil
        let resource = caller.answer ?? entry.requester.resource
        return Departure(
            events: events, rows: rows, place: place, url: caller.url.redacted,
            isRecorded: destination?.isRecorded == true, isProved: isProved, digest: digest
        ) { status in
            DeliveryText(
                DeliveredFile(
                    stamp: status.stamp, entityTag: representation?.entityTag?.bytes,
                    lastModified: representation?.lastModified, requester: requester, digest: digest,
                    checkedAt: digest == nil ? 0 : WallClock.milliseconds, resource: resource))
        }
    }
}
