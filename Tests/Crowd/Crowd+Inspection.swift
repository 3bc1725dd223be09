internal import Foundation
internal import TestSupport

extension Crowd {
    /// Checks the store when no process uses it any more: after one collection it is in order.
    func inspect() async throws {
        try await expect(["gc"])
        try await look(afterwards: "after gc")
        try await expect(["gc", "--max-size", "0"])
        let left = try await look(afterwards: "after gc --max-size 0")
        if left > 0 { findings.violation("\(left) entries are left although nobody uses them") }
        for name in Self.outputFolders {
            let files = try Files.names(in: folder[name])
            findings.note { $0.leftovers += files.count }
            if !files.isEmpty { findings.violation("left beside destinations: \(files)") }
        }
        for (name, opinion) in try await Integrity.opinions(on: folder["store/store.sqlite"]) {
            findings.note { $0.integrity[name] = opinion }
            if opinion != "ok" { findings.violation("integrity by \(name): \(opinion)") }
        }
    }

    /// Compares files with rows and sums with totals.
    ///
    /// - Returns: The number of entries.
    @discardableResult
    private func look(afterwards when: String) async throws -> Int {
        try await expect(["verify"])
        let entries = Self.objects(try await expect(["list", "--json"]))
        let chunks = entries.flatMap { $0["chunks"] as? [[String: Any]] ?? [] }
        let known = Set(chunks.compactMap { $0["path"] as? String })
        let orphans = try Files.names(in: folder["store/blobs"]).filter { !known.contains("blobs/\($0)") }
        findings.note { $0.orphans += orphans.count }
        if !orphans.isEmpty { findings.violation("orphans \(when): \(orphans)") }
        let held = entries.reduce(0) { $0 + ($1["receivedBytes"] as? Int ?? 0) }
        let stats = Self.objects(try await expect(["stats", "--json"])).first
        if stats?["receivedBytes"] as? Int != held || stats?["entries"] as? Int != entries.count {
            findings.violation("totals \(when): \(stats ?? [:]) for \(entries.count) entries with \(held) bytes")
        }
        return entries.count
    }

    @discardableResult
    private func expect(_ arguments: [String]) async throws -> String {
        let outcome = try await children.run(arguments)
        if outcome.ending != .exited(0) {
            findings.violation("\(arguments) at the end: \(outcome.ending) \(outcome.output) \(outcome.errors)")
        }
        return outcome.output
    }
}

/// Checks of an unused database by other SQLite builds than the store's own.
enum Integrity {
    private static let script = """
        import apsw, sys
        rows = apsw.Connection(sys.argv[1]).execute("PRAGMA integrity_check").fetchall()
        print(rows[0][0])
        """

    /// The result of `integrity_check` with the system's program and with apsw, which includes a newer SQLite; only
    /// those that are installed.
    static func opinions(on path: String) async throws -> [String: String] {
        var opinions: [String: String] = [:]
        if Shell.has("sqlite3") {
            let outcome = try await Shell.outcome("sqlite3", [path, "PRAGMA integrity_check"])
            opinions["sqlite3"] = firstLine(outcome)
        }
        for python in pythons {
            guard try await Shell.outcome(python, ["-c", "import apsw"]).status == 0 else { continue }
            let version = try await Shell.outcome(python, ["-c", "import apsw; print(apsw.sqlite_lib_version())"])
            opinions["apsw \(firstLine(version))"] = firstLine(try await Shell.outcome(python, ["-c", script, path]))
            break
        }
        return opinions
    }

    private static func firstLine(_ outcome: Shell.Outcome) -> String {
        let lines = (outcome.output + outcome.errors).split(separator: "\n")
        return lines.first.map(String.init) ?? "status \(outcome.status)"
    }

    /// The system's, and the one that `make setup-test` created for apsw, in a folder above the built programs.
    private static var pythons: [String] {
        var folder = URL(fileURLWithPath: Resumectl.path)
        var found = Shell.has("python3") ? ["python3"] : []
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let python = folder.appendingPathComponent("apsw/bin/python3").path
            if Files.exists(python) { found.append(python) }
        }
        return found
    }
}
