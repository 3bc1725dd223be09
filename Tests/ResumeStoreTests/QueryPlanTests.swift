import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// How SQLite finds the rows of a large store.
@Suite(.timeLimit(.minutes(20)))
struct QueryPlanTests {
    /// The steps of a statement in a store with the entries of ``EntrySequenceTests``.
    private static func plan(_ sql: String, _ connection: borrowing Connection) throws -> [String] {
        let parameters = Array(repeating: SQLiteValue.null, count: sql.count { $0 == "?" })
        return try connection.rows("EXPLAIN QUERY PLAN \(sql)", parameters) { $0.text(3) ?? "" }
    }

    private static let orders: [EntryQuery.Order] = [.use, .creation, .size, .received, .url]

    @Test("Pages of entries, entries by name and candidates of the collector are found in an index, without sorting")
    func plans() async throws {
        try await TemporaryFolder.with { folder in
            await (try DownloadStore.open(at: folder["store"])).close()
            let connection = try Connection.open(path: folder["store/store.sqlite"])
            try connection.execute(EntrySequenceTests.rows)
            var statements: [String] = []
            for order in Self.orders {
                for isReversed in [false, true] {
                    for isFirst in [false, true] {
                        let query = EntryQuery(order: order, isReversed: isReversed)
                        statements.append(Connection.PageStatement(query, isFirst: isFirst).sql)
                    }
                }
            }
            let bounded = EntryQuery(order: .use, isReversed: true, state: .complete, usedBefore: 1)
            statements += [true, false].map { Connection.PageStatement(bounded, isFirst: $0).sql }
            for query in [
                EntryQuery(order: .use, usedBefore: 1, isUnpinned: true), EntryQuery(order: .use, isUnpinned: true),
                EntryQuery(order: .creation, isUnpinned: true),
            ] {
                statements += [true, false].map {
                    Connection.PageStatement(query, isFirst: $0, adding: Connection.candidateColumns).sql
                }
            }
            statements += [Connection.knownBlob, Connection.entryByKey("id"), Connection.chunksOfEntry()]
            for sql in statements {
                let plan = try Self.plan(sql, connection)
                #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
                // The first page begins at the end of an index, or of the table in the order of creation.
                let isFirstPage = !sql.contains("WHERE (") && !sql.contains("WHERE id")
                #expect(
                    plan.allSatisfy { step in
                        step.hasPrefix("SEARCH") || step.contains("SUBQUERY")
                            || step.hasPrefix("SCAN") && isFirstPage && sql.contains("LIMIT ?")
                                && (step.contains("USING INDEX") || sql.contains("ORDER BY id"))
                    }, "\(sql): \(plan)")
            }
            // Of the rows with one name, only a few are sorted.
            for column in Connection.NameColumn.allCases {
                let plan = try Self.plan(column.sql, connection)
                #expect(plan.first?.hasPrefix("SEARCH download USING INDEX") == true, "\(plan)")
            }
            let searches = NameSearch.Column.allCases.map { NameSearch(.entries(pinned: true), $0, prefix: "") }
            let jobs = [NameSearch.Column.key, .destination].map { NameSearch(.jobs(onlyLeft: true), $0, prefix: "") }
            for search in searches + jobs {
                for isReversed in [false, true] {
                    let plan = try Self.plan(search.sql(isReversed: isReversed), connection)
                    #expect(
                        plan.count == 1 && plan[0].wholeMatch(of: /SEARCH \w+ USING INDEX .*>\? AND .*<\?\)/) != nil,
                        "\(plan)")
                }
            }
            // The totals are compared without reading the entries.
            let sums = try Self.plan("SELECT count(*), total(received) FROM download", connection)
            #expect(sums == ["SCAN download USING COVERING INDEX download_by_received"])
        }
    }

    @Test("The test of plans sees what an index is missing for")
    func missing() async throws {
        try await TemporaryFolder.with { folder in
            await (try DownloadStore.open(at: folder["store"])).close()
            let connection = try Connection.open(path: folder["store/store.sqlite"])
            try connection.execute("DROP INDEX download_by_url; DROP INDEX download_by_destination;")
            let plan = try Self.plan(Connection.PageStatement(EntryQuery(order: .url), isFirst: false).sql, connection)
            #expect(plan.contains { $0.contains("TEMP B-TREE") })
            let byName = try Self.plan(Connection.NameColumn.destination.sql, connection)
            #expect(byName.first?.hasPrefix("SCAN") == true)
        }
    }
}
