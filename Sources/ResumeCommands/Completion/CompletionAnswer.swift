internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// Answers a shell that completes a word (``CompletionScripts``).
struct CompletionAnswer {
    let context: CommandContext
    /// The program.
    let root: any ParsableCommand.Type

    /// Prints the answer; nothing if the request cannot be understood.
    ///
    /// - Parameter arguments: The shell, and for bash the line up to the cursor and the text that bash replaces; for
    ///   other shells the words up to the cursor, the program's name not included.
    func print(_ arguments: ArraySlice<String>) async {
        guard let shell = arguments.first.flatMap(CompletionsCommand.Shell.init) else { return }
        let rest = Array(arguments.dropFirst())
        guard shell == .bash else {
            let course = CompletionCourse(rest, of: root)
            let (kind, candidates) = await candidates(for: course)
            for line in [kind, course.head] + candidates.map({ Self.line($0, shell, course.head) }) {
                context.print(line)
            }
            return
        }
        guard rest.count == 2 else { return }
        let line = BashLine(rest[0], replacing: rest[1])
        let course = CompletionCourse(Array(line.words.dropFirst()), of: root)
        let (kind, candidates) = await candidates(for: course)
        let isPart = candidates.count == 1 && !candidates[0].isWhole
        context.print(isPart ? "parts" : kind)
        for candidate in candidates where candidate.text.hasPrefix(course.word) {
            context.print(line.inserted(course.head + candidate.text))
        }
    }

    private typealias Candidate = CompletionCourse.Candidate

    /// Returns what completes a word: the name of a kind, and the words.
    private func candidates(for course: CompletionCourse) async -> (kind: String, [Candidate]) {
        switch course.answer {
        case .files: ("files", [])
        case .folders: ("folders", [])
        case .words(let words): ("words", words)
        case .entries(let pinned): ("words", await names(.entries(pinned: pinned), course))
        case .urls: ("words", await matches(NameSearch(.entries(pinned: nil), .url, prefix: course.word), course))
        case .jobs(let onlyLeft): ("words", await names(.jobs(onlyLeft: onlyLeft), course))
        }
    }

    /// Returns the keys and destinations that a store has for a word; none if it cannot be read.
    private func names(_ subject: NameSearch.Subject, _ course: CompletionCourse) async -> [Candidate] {
        let (typed, folder) = Self.beginning(of: course.word, home: context.environment["HOME"])
        let path = folder + course.word.dropFirst(typed.count)
        let (keys, paths) = await (
            matches(NameSearch(subject, .key, prefix: course.word), course),
            matches(NameSearch(subject, .destination, prefix: path), course)
        )
        return keys
            + paths.map { match in
                var match = match
                match.text = typed + match.text.dropFirst(folder.count)
                return match
            }
    }

    /// Returns the beginning of a word that may be a path, and the folder that it means.
    private static func beginning(of word: String, home: String?) -> (typed: String, folder: String) {
        if word.hasPrefix("/") { return ("", "") }
        if word.hasPrefix("~/"), let home { return ("~/", home + "/") }
        let file = (try? Destination("file").path) ?? "file"
        return (word.hasPrefix("./") ? "./" : "", String(file.dropLast("file".count)))
    }

    /// Returns the names of a store; none if it cannot be read.
    private func matches(_ search: NameSearch, _ course: CompletionCourse) async -> [Candidate] {
        let home = context.environment["HOME"]
        let option = course.store.map { path in
            let (typed, folder) = path.hasPrefix("~/") ? Self.beginning(of: path, home: home) : ("", "")
            return folder + path.dropFirst(typed.count)
        }
        guard let path = try? context.storePath(option),
            let found = try? await DownloadStore.matches(of: search, at: path)
        else { return [] }
        return found.filter { Printable.escaped($0.text) == $0.text }.map { match in
            Candidate(text: match.text, meaning: Self.meaning(match), isWhole: match.isWhole)
        }
    }

    /// The state of an entry in a few words.
    private static func meaning(_ match: NameSearch.Match) -> String {
        guard let received = match.receivedBytes else { return "" }
        return ByteCount.text(received) + (match.totalBytes.map { " of \(ByteCount.text($0))" } ?? "")
    }

    /// Returns a candidate as a script expects it.
    private static func line(_ candidate: Candidate, _ shell: CompletionsCommand.Shell, _ head: String) -> String {
        // The first paragraph of a help text is one line.
        let meaning = Printable.escaped(candidate.meaning)
        guard shell == .zsh else {
            return head + candidate.text + (meaning.isEmpty ? "" : "\t\(meaning)")
        }
        // By scalars, since a combining mark may follow.
        let text = candidate.text.unicodeScalars.reduce(into: "") { text, scalar in
            text += "\\:".unicodeScalars.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
        }
        return (candidate.isWhole ? "=" : "-") + text + (meaning.isEmpty ? "" : ":\(meaning)")
    }
}
