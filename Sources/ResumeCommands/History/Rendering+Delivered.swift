import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Delivered files.
extension Rendering {
    static func line(_ record: DeliveryRecord, _ file: DeliveredFile) -> String {
        let digest = file.digest.map { "  \($0.algorithm.rawValue):\($0.hexadecimal)" } ?? ""
        return "\(time(file.deliveredAt))  \(ByteCount.text(file.stamp.size))  \(record.path)  "
            + "\(Redaction.key(record.url))\(digest)"
    }

    static func json(_ record: DeliveryRecord, _ file: DeliveredFile) -> JSONObject {
        let members: JSONObject = [
            "deliveredAt": time(file.deliveredAt), "path": record.path, "totalBytes": file.stamp.size,
            "url": record.url,
        ]
        return members.adding(file.digest?.members ?? [:])
    }

    /// Says what became of a delivered file.
    static func lines(_ record: DeliveryRecord, _ file: DeliveredFile) -> [String] {
        let state =
            switch file.state(at: record.path) {
            case .unchanged: "unchanged"
            case .changed: "changed since"
            case .missing: "no longer there"
            }
        var lines = [
            "file       \(record.path)", "from       \(Redaction.key(record.url))",
            "size       \(exact(file.stamp.size))",
            file.deliveredAt > 0 ? "delivered  \(time(file.deliveredAt)), \(state)" : "state      \(state)",
        ]
        if let digest = file.digest {
            lines.append("\(digest.algorithm.rawValue)    \(digest.hexadecimal), checked \(time(file.checkedAt))")
        }
        return lines
    }
}

extension DeliveredFile {
    /// What became of it, as JSON says it.
    enum State: String { case unchanged, changed, missing }

    func state(at path: String) -> State {
        isInPlace(at: path) ? .unchanged : (try? Destination(path))?.found.stamp != nil ? .changed : .missing
    }
}

extension DownloadStore {
    /// Returns the record of a delivered file that a user names by its path; nil if there is none.
    func delivered(named name: String) async throws -> (record: DeliveryRecord, file: DeliveredFile)? {
        guard let path = try? Destination(name).path, let record = try await DeliveryRecords(of: self).record(at: path),
            let file = record.file
        else { return nil }
        return (record, file)
    }
}
