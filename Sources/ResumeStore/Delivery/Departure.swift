import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// What is recorded of a download that leaves the store.
struct Departure: Sendable {
    /// The log events, including the start of the download if it had no row before.
    let events: [Event]
    /// The rows of queues that it fulfils.
    let rows: [JobTable.QueuedRow]
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
    let text: @Sendable (FileStatus) -> DeliveredFile.Text

    var needsFile: Bool { isRecorded || !rows.isEmpty }

    /// Records the file before it gets its name.
    func announce(_ file: DeliveredFile.Text, _ connection: borrowing Connection) throws {
        try connection.announceDelivery(of: file, at: place, from: url)
    }
}

extension Connection {
    borrowing func record(_ departures: [(departure: Departure, file: DeliveredFile.Text?)]) throws {
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
                let file = departure.isProved ? file : nil
                try fulfil(row, with: file, at: departure.place)
            }
            if let file, departure.isRecorded {
                try recordDelivery(of: file, at: departure.place, from: departure.url)
            }
        }
    }
}

extension Departure {
    /// Makes what is recorded.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - url: The URL.
    ///   - destination: The destination; nil for memory.
    ///   - rows: The rows of queues that it fulfils.
    ///   - bytes: The length.
    ///   - started: When the download began, and why, if that is not in the log yet.
    ///   - isProved: Whether all bytes are known to belong to one representation, so that the file has its validators.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    ///   - representation: The representation.
    ///   - requester: The request.
    init(
        of key: String, from url: DownloadURL, to destination: Destination?, fulfilling rows: [JobTable.QueuedRow],
        bytes: Int64,
        started: (at: Int64, reason: Reason)?, isProved: Bool = true, digest: HTTPDigest?,
        _ representation: Representation?, _ requester: Requester
    ) {
        place = destination?.path ?? "memory"
        let start = started.map { Event(key: key, at: $0.at, kind: .started, reason: $0.reason, bytes: 0) }
        let end = Event(
            key: key, at: WallClock.milliseconds, kind: .delivered, reason: .delivered(to: place, isProved: isProved),
            bytes: bytes)
        events = [start, end].compactMap(\.self)
        self.rows = rows
        self.url = url.redacted
        self.isProved = isProved
        self.digest = digest
        isRecorded = destination?.isRecorded == true
        text = { status in
            DeliveredFile.Text(
                DeliveredFile(
                    stamp: status.stamp, entityTag: isProved ? representation?.entityTag?.bytes : nil,
                    lastModified: isProved ? representation?.comparableDate : nil,
                    requester: isProved ? requester.code : nil, digest: digest,
                    checkedAt: digest == nil ? 0 : WallClock.milliseconds, resource: requester.resource))
        }
    }
}

extension Transfer {
    /// Returns what is recorded when the download leaves the store.
    ///
    /// - Parameters:
    ///   - destination: The destination; nil for memory.
    ///   - rows: The rows of queues that it fulfils.
    ///   - isProved: Whether all bytes are known to belong to one representation.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    /// - Returns: What is recorded.
    func departure(
        to destination: Destination?, fulfilling rows: [JobTable.QueuedRow] = [], isProved: Bool = true,
        _ digest: HTTPDigest? = nil
    ) -> Departure {
        var requester = requester(for: entry.representation)
        requester.resource = caller.provenance ?? entry.requester.resource
        return Departure(
            of: entry.key, from: caller.url, to: destination, fulfilling: rows, bytes: held, started: nil,
            isProved: isProved, digest: digest, entry.representation, requester)
    }
}
