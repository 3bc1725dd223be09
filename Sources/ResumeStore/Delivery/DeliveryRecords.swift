import ResumeFiles
import ResumeSQLite

/// The records of delivered files.
package struct DeliveryRecords: Sendable {
    private let store: DownloadStore

    package init(of store: DownloadStore) { self.store = store }

    /// Returns the record of the file at a path; nil if there is none.
    ///
    /// - Throws: ``StoreError``
    package func record(at path: String) async throws -> DeliveryRecord? {
        try await store.read { connection in try connection.delivered(at: path) }
    }

    /// Records what is known of a file in place.
    ///
    /// - Throws: ``StoreError``
    package func renew(_ file: DeliveredFile, at path: String, from url: String) async throws {
        try await store.write { connection in try connection.renewDelivery(of: file, at: path, from: url) }
    }

    /// Permits downloads to replace what exists at their destinations, since the user has named them.
    ///
    /// - Parameter names: The paths, and the URLs.
    /// - Throws: ``StoreError``
    package func permitReplacing(_ names: [(path: String, url: String)]) async throws {
        // Not in a transaction: a destination may not respond.
        let found = try await Blocking.run {
            names.compactMap { path, url in
                let place = try? Destination(path)
                return place.flatMap { place in place.status.map { (place: place, stamp: $0.stamp, url: url) } }
            }
        }
        let records = try await store.read { connection in try found.map { try connection.delivered(at: $0.place.path) }
        }
        let others = try await Blocking.run {
            // What was delivered there stays recorded.
            zip(found, records)
                .filter { $1?.own($0.stamp, at: $0.place, for: $0.url) == nil }
                .map(\.0)
        }
        guard !others.isEmpty else { return }
        try await store.write { connection in
            for (place, stamp, url) in others {
                let file = DeliveredFile.Text(DeliveredFile(replaceable: stamp))
                try connection.announceDelivery(of: file, at: place.path, from: url)
            }
        }
    }

    /// Calls a closure with each delivered file, in the order of deliveries.
    ///
    /// - Parameters:
    ///   - time: The earliest time of delivery, in milliseconds since 1970.
    ///   - body: The closure.
    /// - Throws: ``StoreError``; the error of the closure.
    package func forEach(since time: Int64, _ body: (DeliveryRecord) throws -> Void) async throws {
        var last: Int64 = .min
        while true {
            let page = try await store.read { [last] connection in
                try connection.delivered(after: last, since: time, limit: 500)
            }
            for case let record? in page.map(\.record) { try body(record) }
            guard let id = page.last?.id, page.count == 500 else { return }
            last = id
        }
    }
}
