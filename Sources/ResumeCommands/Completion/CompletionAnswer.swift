import ArgumentParser
import ResumeHTTP
import ResumeStore

/// Answers a shell that completes a word (``CompletionsCommand/Shell/script``).
struct CompletionAnswer {
    /// The first argument of such a request, which cannot be the name of a command.
    static let request = "---complete"

    let context: CommandContext
    let root: any ParsableCommand.Type

    private typealias Candidate = Course.Candidate

    /// Prints the answer; nothing if the request cannot be understood.
    ///
    /// - Parameter arguments: The shell, and for bash the line up to the cursor and the text that bash replaces; for
    ///   other shells the words up to the cursor, the program's name not included.
    func print(_ arguments: ArraySlice<String>) async {
        guard let shell = arguments.first.flatMap(CompletionsCommand.Shell.init) else { return }
        let rest = Array(arguments.dropFirst())
        let line = shell == .bash && rest.count == 2 ? Line(rest[0], replacing: rest[1]) : nil
        guard line != nil || shell != .bash else { return }
        let course = Course(line.map { Array($0.words.dropFirst()) } ?? rest, of: root)
        let (kind, candidates) = await candidates(for: course)
        guard let line else {
            let lines = candidates.map { Self.line($0, shell, course.head) }
            for line in [kind, course.head] + lines { context.output(line + "\n") }
            return
        }
        let isPart = candidates.count == 1 && !candidates[0].isWhole
        context.print(isPart ? "parts" : kind)
        for candidate in candidates where candidate.text.hasPrefix(course.word) {
            context.print(line.inserted(course.head + candidate.text))
        }
    }

    /// Returns what completes a word: the name of a kind, and the words.
    private func candidates(for course: Course) async -> (kind: String, [Candidate]) {
        switch course.answer {
        case .files: return ("files", [])
        case .folders: return ("folders", [])
        case .words(let words): return ("words", words)
        case .names(let subject, let columns):
            var names: [Candidate] = []
            for column in columns { names += await self.names(subject, column, course) }
            return ("words", names)
        }
    }

    /// Returns the names that a store has for a word; none if it cannot be read.
    private func names(
        _ subject: NameSearch.Subject, _ column: NameSearch.Column, _ course: Course
    ) async -> [Candidate] {
        let (typed, folder) = column == .destination ? beginning(of: course.word) : ("", "")
        let search = NameSearch(subject, column, prefix: folder + course.word.dropFirst(typed.count))
        let store = course.store.map { path in
            let (typed, home) = path.hasPrefix("~/") ? beginning(of: path) : ("", "")
            return home + path.dropFirst(typed.count)
        }
        let settings = try? Settings(context, of: root)
        let isShared = settings?.effective.contains { $0.name == "store-shared" && $0.isSet == true } ?? false
        guard let path = try? context.storePath(store),
            let found = try? await search.matches(at: path, isShared: isShared)
        else { return [] }
        return found.filter { Printable.escaped($0.text) == $0.text }.map { match in
            let received = match.receivedBytes.map(ByteCount.text) ?? ""
            return Candidate(
                text: typed + match.text.dropFirst(folder.count),
                meaning: received + (match.totalBytes.map { " of \(ByteCount.text($0))" } ?? ""),
                isWhole: match.isWhole)
        }
    }

    /// Returns the beginning of a word that may be a path, and the folder that it means.
    private func beginning(of word: String) -> (typed: String, folder: String) {
        if word.hasPrefix("/") { return ("", "") }
        if word.hasPrefix("~/"), let home = context.environment["HOME"] { return ("~/", home + "/") }
        let file = (try? Destination("file").path) ?? "file"
        return (word.hasPrefix("./") ? "./" : "", String(file.dropLast("file".count)))
    }

    /// Returns a candidate as a script expects it.
    private static func line(_ candidate: Candidate, _ shell: CompletionsCommand.Shell, _ head: String) -> String {
        // The first paragraph of a help text is one line.
        let meaning = Printable.escaped(candidate.meaning)
        guard shell == .zsh else { return head + candidate.text + (meaning.isEmpty ? "" : "\t\(meaning)") }
        // By scalars, since a combining mark may follow.
        let text = candidate.text.unicodeScalars.reduce(into: "") { text, scalar in
            text += "\\:".unicodeScalars.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
        }
        return (candidate.isWhole ? "=" : "-") + text + (meaning.isEmpty ? "" : ":\(meaning)")
    }
}
