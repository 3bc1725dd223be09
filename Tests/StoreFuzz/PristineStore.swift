internal import Foundation
internal import HTTPTypes
package import OriginServer
internal import ResumeHTTP
internal import ResumeStore
internal import TestSupport

/// A store with three downloads and a queue, created once and copied for each case.
///
/// Its origin has two versions of each file, so that any mix of both is detected.
package struct PristineStore: Sendable {
    /// The keys of the downloads.
    ///
    /// No single changed byte turns one into another.
    package static let keys = ["first-entry", "second-entry", "third-entry"]
    static let length = 300_000
    /// The stored bytes of each: the last one is complete, and was not delivered.
    static let held = [200_000, 120_000, 300_000]

    /// The stores: closed, and as a killed process leaves it, with all of its rows in the log.
    let closed: String
    let hot: String
    /// The columns that rows may be planted in.
    let columns: [Column]
    /// The schema texts of the tables, by name.
    let tables: [String: String]

    /// A column of a table.
    struct Column: Sendable, Hashable {
        var table: String
        var name: String
        var type: String
    }

    /// The bytes of a version of a download.
    package static func bytes(of key: String, version: Int) -> [UInt8] {
        let content = content(of: key, version: version)
        return content.bytes(in: content.all)
    }

    private static func content(of key: String, version: Int) -> Content {
        Content(length: Int64(length), seed: UInt64((keys.firstIndex(of: key) ?? 9) * 10 + version))
    }

    private static func etag(of key: String, version: Int) -> String { "\"\(key)-\(version)\"" }

    /// The origin's answer under `/VERSION/KEY`.
    @Sendable package static func answer(_ request: OriginRequest) -> Response {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 2, let version = Int(parts[0]), (1...2).contains(version), keys.contains(parts[1]) else {
            return .status("404 Not Found")
        }
        let resource = Resource(
            content(of: parts[1], version: version), etag: etag(of: parts[1], version: version))
        return .file(resource, for: request)
    }

    /// Creates the stores.
    ///
    /// - Parameters:
    ///   - folder: Their folder.
    ///   - origin: The base URL of the origin.
    /// - Throws: An error if they cannot be created.
    init(in folder: TemporaryFolder, origin: String) async throws {
        (closed, hot) = (folder["closed"], folder["hot"])
        let path = folder["made"]
        let store = try await DownloadStore.open(at: path)
        for (key, held) in zip(Self.keys, Self.held) {
            let transfer = try await store.open(try DownloadURL("\(origin)/1/\(key)"), headerFields: [:], key: key)
            let server = HonestServer(Self.bytes(of: key, version: 1), etag: Self.etag(of: key, version: 1))
            try await server.fill(transfer, upTo: held)
            try await transfer.close()
        }
        let database = "\(path)/store.sqlite"
        let queued = "queued (queue, key, url, destination, state, priority, forced, position)"
        try await Self.sql(
            database,
            """
            INSERT INTO queue (name) VALUES ('default'), ('other');
            INSERT INTO \(queued) VALUES (1, 'q', 'http://127.0.0.1:9/q', '\(folder["sink"])/q', 'waiting', 0, 0, 1),
                (1, 'r', 'http://127.0.0.1:9/r', '\(folder["sink"])/r', 'paused', 1, 1, 2),
                (2, 's', 'http://127.0.0.1:9/s', '\(folder["sink"])/s', 'running', 2, 0, 1);
            """)
        try await Shell.run("cp", "-a", path, hot)
        try FileManager.default.removeItem(atPath: "\(hot)/store.sqlite-shm")
        await store.close()
        try await Shell.run("cp", "-a", path, closed)
        let isTable = "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
        let columns = try await Self.sql(
            "\(closed)/store.sqlite",
            """
            SELECT m.name, p.name, p.type FROM sqlite_schema m, pragma_table_info(m.name) p \(isTable)
            ORDER BY 1, p.cid
            """)
        self.columns =
            columns.split(separator: "\n").map { line in
                let parts = line.split(separator: "|").map(String.init)
                return Column(table: parts[0], name: parts[1], type: parts[2])
            } + [Column(table: "sqlite_sequence", name: "seq", type: "INTEGER")]
        var tables: [String: String] = [:]
        for table in Set(self.columns.map(\.table)).subtracting(["sqlite_sequence"]) {
            tables[table] = try await Self.sql(
                "\(closed)/store.sqlite", "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'"
            ).trimmingCharacters(in: .newlines)
        }
        self.tables = tables
    }

    /// Runs SQL with the program `sqlite3`, which has none of the store's own protections.
    @discardableResult
    static func sql(_ database: String, _ statements: String) async throws -> String {
        try await Shell.run("sqlite3", "-cmd", ".bail on", database, statements)
    }
}
