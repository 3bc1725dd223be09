import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// What is recorded of a download that leaves the store.
struct Departure {
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

    /// Removes an entry after its delivery, with older variants that it replaces.
    ///
    /// - Parameters:
    ///   - entry: The entry; one that another task or process waits for is kept.
    ///   - isKept: Whether it is kept.
    ///   - requester: The request that it was fetched with.
    ///   - staged: The file before it got its name; nil if it had it already, and for memory.
    ///   - status: Returns the delivered file; nil for memory.
    ///   - durability: What the record must survive.
    ///   - store: The store.
    /// - Throws: ``StoreError``
    func leave(
        _ entry: Entry, keeping isKept: Bool, of requester: Requester, staged: DeliveredFile.Text?,
        _ status: () -> FileStatus?, durability: Connection.CommitDurability, in store: DownloadStore
    ) throws {
        let file = needsFile ? status().map { text($0).since(staged) } : nil
        let blobs = try store.writeNow(durability: durability) { connection in
            try connection.record([(self, file)])
            let others = try connection.removeVariants(
                of: entry.name, beside: entry, for: requester, in: store.folder)
            return try others + (isKept ? [] : connection.remove(entry))
        }
        KillPoint.reached(.rowRemoved)
        // The file is delivered; a blob that cannot be removed is left to the collector.
        try? store.folder.remove(blobs)
        // That has changed the file's status, and its digest counts as proved only for the status in the record.
        guard let file, file.file.digest != nil else { return }
        let now = file.renewed(with: status().map(text))
        if now.file.stamp != file.file.stamp {
            try? store.writeNow { try $0.renew(file, with: now, of: self) }
        }
    }
}
