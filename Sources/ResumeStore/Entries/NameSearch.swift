import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// A search for the names of entries or jobs that begin with a text, as a shell asks for when it completes a word.
///
/// If there are many, they are combined as a shell combines the files of a folder: by the next component of the URL or
/// path. So the time does not depend on the number of entries.
package struct NameSearch: Sendable {
    package enum Subject: Sendable {
        /// Entries; only those that are pinned or not, unless nil.
        case entries(pinned: Bool?)
        /// Jobs; only those that are not done or cancelled, unless false.
        case jobs(onlyLeft: Bool)
    }

    package enum Column: String, Sendable, CaseIterable {
        case key, url, destination
    }

    var subject: Subject
    var column: Column
    /// The text that they begin with.
    var prefix: String

    /// Creates a search.
    package init(_ subject: Subject, _ column: Column, prefix: String) {
        self.subject = subject
        self.column = column
        self.prefix = prefix
    }

    /// A name that was found, or the beginning of several names.
    package struct Match: Sendable, Hashable {
        /// The name, or its beginning up to and including a slash.
        package var text: String
        package var isWhole = true
        /// The received bytes and the length of the file, where they are known.
        package var receivedBytes: Int64?
        package var totalBytes: Int64?
    }

    /// The number of rows up to which all are read.
    static let fewRows = 1000
    /// The number of names up to which they are not combined.
    static let fewNames = 50
    /// The number of matches beyond which the rest is left out.
    static let mostMatches = 200

    /// The number of steps of an index after which a search ends.
    static let mostSteps = 2000

    /// Returns the matches for the names of a range of rows.
    static func combined(_ names: [Match], prefix: String) -> [Match] {
        guard names.count > fewNames else { return names }
        var matches: [Match] = []
        for name in names {
            let match = beginning(of: name, after: prefix)
            if match.text != matches.last?.text { matches.append(match) }
        }
        guard let last = matches.last, matches.count > mostMatches else { return matches }
        // With the last one, since shells insert what all of them have in common.
        return matches.prefix(mostMatches) + [last]
    }

    /// Returns a name up to the end of the component in which a prefix of it ends.
    static func beginning(of name: Match, after prefix: String) -> Match {
        let text = name.text.utf8
        var start = text.index(text.startIndex, offsetBy: prefix.utf8.count, limitedBy: text.endIndex) ?? text.endIndex
        // The slashes before a host do not end a component.
        if let scheme = name.text.firstRange(of: "://"), start < scheme.upperBound { start = scheme.upperBound }
        guard let slash = text[start...].firstIndex(of: .slash), text.index(after: slash) < text.endIndex
        else { return name }
        return Match(text: String(name.text[...slash]), isWhole: false)
    }

    /// A text that follows all texts with a prefix, in SQLite's order.
    static func end(of prefix: String) -> String { prefix + "\u{10FFFF}" }
}

extension NameSearch {
    /// Returns the names of entries or jobs that begin with some text, for a shell that completes a word.
    ///
    /// Nothing is changed: a store of an older release is not converted, and its names are not found.
    ///
    /// - Parameters:
    ///   - path: The folder of the store.
    ///   - isShared: Whether others may use the store.
    /// - Returns: The matches, sorted.
    /// - Throws: ``StoreError``.
    package func matches(at path: String, isShared: Bool = false) async throws -> [Match] {
        try await Blocking.run {
            try StoreError.wrapping(at: path) {
                let folder = try StoreFolder(path: path, creating: false, isShared: isShared)
                try folder.requireStore()
                let presence = try Presence(in: folder)
                defer { presence.end() }
                try folder.requireOwnFiles()
                let connection = try Connection.open(path: folder.databasePath, busyTimeout: 100)
                try connection.execute("PRAGMA query_only = ON")
                guard try Schema.verifiedVersion(connection, at: path) == Schema.version else {
                    throw StoreError(.noStore, "the store at \(path) is of an older release")
                }
                return try connection.transaction(.deferred) { try connection.matches(self) }
            }
        }
    }
}
