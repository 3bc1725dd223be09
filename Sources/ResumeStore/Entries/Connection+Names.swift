import ResumeSQLite

/// The names of entries and jobs in the order of an index.
extension Connection {
    /// Returns the matches of a search, sorted.
    borrowing func matches(_ search: NameSearch) throws -> [NameSearch.Match] {
        let end = NameSearch.end(of: search.prefix)
        let few = try names(search, from: search.prefix, to: end, limit: NameSearch.fewRows + 1)
        guard few.count > NameSearch.fewRows else {
            return NameSearch.combined(few.compactMap(\.match), prefix: search.prefix)
        }
        // One step of the index for each match. Whether rows are meant is not asked, since none of many may be.
        var any = search
        any.subject = search.subject.withoutCondition
        var matches: [NameSearch.Match] = []
        var start = search.prefix
        // Many rows that are not meant may lie between two matches.
        for _ in 0..<NameSearch.mostSteps where matches.count < NameSearch.mostMatches {
            guard let name = try names(any, from: start, to: end, limit: 1).first else { break }
            let next: String
            if let match = name.match.map({ NameSearch.beginning(of: $0, after: search.prefix) }) {
                matches.append(match)
                // After a whole name come those that it begins, too.
                next = match.isWhole ? match.text + "\u{1}" : NameSearch.end(of: match.text)
            } else {
                guard let text = name.text else { break }
                next = text + "\u{1}"
            }
            // In a damaged store, a name may not be valid UTF-8.
            guard start.utf8.lexicographicallyPrecedes(next.utf8) else { break }
            start = next
        }
        if let last = try names(any, from: start, to: end, limit: 1, isReversed: true).first?.match {
            matches.append(NameSearch.beginning(of: last, after: search.prefix))
        }
        return matches
    }

    /// Returns the names of some rows of a range, sorted; the match is nil for one that is not meant.
    private borrowing func names(
        _ search: NameSearch, from start: String, to end: String, limit: Int, isReversed: Bool = false
    ) throws -> [(text: String?, match: NameSearch.Match?)] {
        try rows(search.sql(isReversed: isReversed), start, end, Int64(limit)) { row in
            guard let text = row.text(0) else { return (nil, nil) }
            guard row.integer(1) == 1 else { return (text, nil) }
            return (text, .init(text: text, receivedBytes: row.integer(2), totalBytes: row.integer(3)))
        }
    }
}

extension NameSearch {
    /// The statement that finds the rows of a range: the name, whether the row is meant, its received bytes and its
    /// length.
    func sql(isReversed: Bool = false) -> String {
        let name = column.rawValue
        return """
            SELECT \(name), \(subject.columnsAndTable) WHERE \(name) >= ? AND \(name) < ?
            ORDER BY \(name)\(isReversed ? " DESC" : "") LIMIT ?
            """
    }
}

extension NameSearch.Subject {
    fileprivate var columnsAndTable: String {
        switch self {
        case .entries(let pinned):
            let condition = pinned.map { "pinned = \($0 ? 1 : 0)" } ?? "1"
            return "\(condition), received, complete_length FROM download"
        case .jobs(let onlyLeft):
            return "list <> 0 AND \(onlyLeft ? "ended IS NULL" : "1"), NULL, NULL FROM queued"
        }
    }

    /// The same for all rows.
    fileprivate var withoutCondition: Self {
        switch self {
        case .entries: .entries(pinned: nil)
        case .jobs: .jobs(onlyLeft: false)
        }
    }
}
