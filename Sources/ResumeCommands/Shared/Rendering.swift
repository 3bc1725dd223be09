#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// All output formats for the contents of a store.
///
/// Text from outside is escaped here.
enum Rendering {
    /// Returns a time in the format of RFC 3339.
    static func time(_ milliseconds: Int64) -> String {
        // A planted row may contain any number; the calendar ends with the year 9999.
        let seconds = min(max(milliseconds / 1000, -62_135_596_800), 253_402_300_799)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// Returns a human-readable age.
    static func age(_ milliseconds: Int64) -> String {
        TimeSpan.text(WallClock.milliseconds / 1000 - milliseconds / 1000)
    }

    /// Returns an entry in the format of `list --json`.
    static func json(_ entry: Entry) -> JSONObject {
        let chunks = entry.chunks.map { chunk -> JSONObject in
            ["path": chunk.path, "offset": chunk.offset, "length": chunk.length, "durable": chunk.durable]
        }
        let known = entry.representation
        return [
            "chunks": chunks, "createdAt": time(entry.times.created),
            "destination": entry.destination.map(StandardOutput.shown), "durableBytes": entry.durableBytes,
            "etag": known?.entityTag?.rawValue, "inUse": entry.isInUse, "goneAt": entry.objections.goneAt.map(time),
            "contentCoding": known?.contentCoding, "key": entry.key, "ranges": entry.selection?.description,
            "lastModified": known?.lastModified, "lastUsedAt": time(entry.times.used), "pinned": entry.isPinned,
            "suggestedFilename": known?.suggestedFilename, "receivedBytes": entry.receivedBytes,
            "resumable": entry.isResumable, "state": entry.state.rawValue, "totalBytes": entry.totalBytes,
            "url": entry.url, "variant": entry.variant, "vary": known?.vary,
        ]
    }

    static func json(_ event: Event) -> JSONObject {
        [
            "at": time(event.at), "bytes": event.bytes, "key": event.key,
            "kind": event.kind.rawValue, "message": StandardOutput.shown(event.reason.text),
            "reason": event.reason.code.rawValue,
        ]
    }

    /// Returns the removed entries as JSON.
    static func json(_ report: RemovalReport, dryRun: Bool) -> JSONObject {
        let removed = report.removed.map { removed -> JSONObject in
            [
                "bytes": removed.bytes, "key": removed.key,
                "job": removed.jobDestination, "reason": removed.reason.code.rawValue,
            ]
        }
        return [
            "dryRun": dryRun, "freedBytes": report.freedBytes,
            "inUse": report.inUse, "orphanBytes": report.orphanBytes, "orphans": report.orphans,
            "pinned": report.pinned, "removed": removed,
        ]
    }

    /// Returns what is special about an entry, in brackets; empty if nothing is.
    static func note(_ entry: Entry) -> String {
        let marks = [(entry.isInUse, "in use"), (entry.isPinned, "pinned"), (!entry.isResumable, "not resumable")]
        let shown = marks.filter(\.0).map(\.1)
        return shown.isEmpty ? "" : "  [\(shown.joined(separator: ", "))]"
    }

    /// Returns the part that has been received in percent.
    static func percent(_ received: Int64, of total: Int64) -> String {
        guard total > 0 else { return "100%" }
        return "\(Int(min(Double(received) / Double(total), 1) * 100))%"
    }

    static func line(_ event: Event, withKey: Bool) -> String {
        let key = withKey ? "  \(Redaction.key(event.key))" : ""
        let bytes = event.bytes > 0 ? "  \(ByteCount.text(event.bytes))" : ""
        let reason = StandardOutput.shown(event.reason.text)
        return "\(time(event.at))  \(Terminal.padded(event.kind.rawValue, to: 11))\(key)\(bytes)  \(reason)"
    }

    /// Returns a number of bytes as people read it, and as it is.
    static func exact(_ bytes: Int64) -> String { "\(ByteCount.text(bytes)) (\(bytes) bytes)" }

    /// Returns all facts about an entry, one per line; `width` is that of the terminal, if there is one.
    static func lines(_ entry: Entry, width: Int?) -> [String] {
        let known = entry.representation
        let validator = known?.validator.map { "\($0)" } ?? known?.weakness?.text ?? "none (no response yet)"
        var facts: [(String, String?)] = [
            ("key", Redaction.key(entry.key)), ("url", Redaction.key(entry.url)), ("state", entry.state.rawValue),
            ("received", "\(exact(entry.receivedBytes)), \(ByteCount.text(entry.durableBytes)) of it synced to disk"),
            ("length", entry.totalBytes.map(exact) ?? "unknown"),
            ("resumable", entry.isResumable ? "yes" : "no"), ("validator", validator),
            ("etag", known?.entityTag?.rawValue), ("last modified", known?.lastModified),
            ("content type", known?.contentType), ("encoding", known?.contentCoding),
            ("destination", entry.destination.map(StandardOutput.shown)),
            ("server filename", known?.suggestedFilename),
            ("pinned", entry.isPinned ? "yes" : "no"), ("in use", entry.isInUse ? "yes" : "no"),
            ("created", time(entry.times.created)),
            ("last used", "\(time(entry.times.used)) (\(age(entry.times.used)) ago)"),
        ]
        if let selection = entry.selection { facts.insert(("ranges", selection.description), at: 2) }
        if let vary = known?.vary {
            facts.append(("variant", "\(entry.variant) (depends on the request: \(vary))"))
        } else if entry.variant > 1 {
            facts.append(("variant", "\(entry.variant) (for another request)"))
        }
        if let goneAt = entry.objections.goneAt {
            facts.append(("gone", sentence("gone-since", time(goneAt))))
        }
        facts += entry.chunks.filter { $0.length > 0 }.map { chunk in
            ("bytes", "\(chunk.offset) to \(chunk.offset &+ chunk.length) in \(chunk.path)")
        }
        // In a narrow terminal, the map has a row of its own.
        let room = width.map { $0 < 40 ? $0 : $0 - 17 } ?? 52
        if let map = map(entry, cells: max(min(room - 2, 50), 1)) { facts.append(("map", map)) }
        return facts.map { "\(Terminal.padded($0.0 + ":", to: 17))\($0.1 ?? "none")" }
    }

    /// Returns the received ranges as a bar.
    private static func map(_ entry: Entry, cells count: Int) -> String? {
        guard let total = entry.totalBytes, total > 0 else { return nil }
        let cells = (0..<count).map { cell in
            let middle = Int64((Double(cell) + 0.5) / Double(count) * Double(total))
            let isHeld = entry.chunks.contains { $0.offset <= middle && middle - $0.offset < $0.length }
            return isHeld ? "#" : "."
        }
        return "[\(cells.joined())]"
    }

    /// Returns a line about each removed entry.
    static func losses(in report: RemovalReport) -> [String] {
        report.removed.filter { $0.bytes > 0 }.map { removed in
            let job = removed.jobDestination.map { sentence("loss-of-job", $0) } ?? ""
            let bytes = ByteCount.text(removed.bytes)
            return sentence("loss", Redaction.key(removed.key), bytes, removed.reason, job)
        }
    }

    /// Prints what was removed or kept, one line each.
    static func show(_ report: RemovalReport, dryRun: Bool, _ context: CommandContext) {
        let verb = dryRun ? "would remove" : "removed"
        for removed in report.removed {
            let bytes = ByteCount.text(removed.bytes)
            // It may not have happened.
            let reason = dryRun && removed.reason.code == .purged ? "on request" : removed.reason.text
            context.print("\(verb) \(Redaction.key(removed.key)), \(bytes): \(reason)")
            guard let job = removed.jobDestination else { continue }
            let (start, forget) = (dryRun ? "would start" : "starts", Hint.run("forget", ShellWord.quoted(job)))
            context.print("  " + sentence("job-restarts", job, start, Hint.run("resume"), forget))
        }
        for path in report.orphans { context.print("\(verb) \(path), which belongs to no entry") }
        for key in report.inUse {
            context.print(sentence("kept-used", Redaction.key(key)))
        }
        for key in report.pinned { context.print("pinned, kept: \(Redaction.key(key))") }
    }

    /// Prints what was removed or kept, and the sum.
    static func finish(_ report: RemovalReport, dryRun: Bool, asJSON: Bool, _ context: CommandContext) {
        if asJSON { return context.print(json(report, dryRun: dryRun)) }
        show(report, dryRun: dryRun, context)
        context.print("\(dryRun ? "would free" : "freed") \(ByteCount.text(report.freedBytes))")
    }

    static func dataFiles(_ count: Int) -> String { count == 1 ? "1 data file" : "\(count) data files" }

    static func problems(_ count: Int) -> String { count == 1 ? "1 problem" : "\(count) problems" }

    static func entries(_ count: Int) -> String { count == 1 ? "1 entry" : "\(count) entries" }
}
