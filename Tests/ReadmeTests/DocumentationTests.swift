import ArgumentParser
import Foundation
@testable import ResumeCommands
import TestSupport
import Testing

/// The examples, commands and links in README, articles and docs work, and the articles list everything public.
@Suite(.timeLimit(.minutes(5)))
struct DocumentationTests {
    static let modules = [
        "ResumeAsyncHTTP", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeMaintenance", "ResumeStore",
        "ResumeURLSession",
    ]

    /// A page of a catalogue.
    struct Page {
        var module: String
        var name: String
        var text: String

        /// Whether it adds to the page of a symbol: the module's own, or that of a type.
        var isOfSymbol: Bool { text.hasPrefix("# ``") }
    }

    static let pages = Result { try modules.flatMap { try pages(of: $0) } }

    private static func pages(of module: String) throws -> [Page] {
        let catalogue = "Sources/\(module)/\(module).docc"
        return try files(in: catalogue, suffix: ".md").map { path in
            let name = path.split(separator: "/").last.map { String($0.dropLast(3)) } ?? path
            return Page(module: module, name: name, text: try ReadmeTests.text("\(catalogue)/\(path)"))
        }
    }

    /// The files in a folder and its subfolders, by relative path.
    static func files(in folder: String, suffix: String) throws -> [String] {
        let path = ReadmeTests.root.appendingPathComponent(folder).standardizedFileURL.path
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// The blocks between an opening line and the next closing one, without their common indentation.
    private static func blocks(in lines: [Substring], from open: String, to close: String) -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in lines {
            let mark = line.drop { $0 == " " }
            if mark == open {
                block = []
            } else if mark == close, let lines = block {
                let margin = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
                blocks.append(lines.map { String($0.dropFirst(margin)) }.joined(separator: "\n"))
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// README.md, CONTRIBUTING.md, CHANGELOG.md and everything in `docs`, by relative path.
    private static func documents() throws -> [(path: String, text: String)] {
        let docs = try files(in: "docs", suffix: ".md").map { "docs/\($0)" }
        return try (["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + docs).map { ($0, try ReadmeTests.text($0)) }
    }

    /// The examples of this package's API in documents, articles and comments.
    ///
    /// Leaves out the code of other packages (`Before`) and manifests, which ``ReadmeTests`` check.
    private static func shown() throws -> [String] {
        let texts = try pages.get().map(\.text) + documents().map(\.text)
        var shown = texts.flatMap { blocks(in: lines($0), from: "```swift", to: "```") }
        for path in try files(in: "Sources", suffix: ".swift") {
            let comments = lines(try ReadmeTests.text("Sources/\(path)")).compactMap { line -> Substring? in
                let text = line.drop { $0 == " " }
                return text.hasPrefix("///") ? text.dropFirst(text.hasPrefix("/// ") ? 4 : 3) : nil
            }
            shown += blocks(in: comments, from: "```swift", to: "```")
        }
        return shown.filter { block in
            !["// Before", "// Package.swift", "// swift-tools-version"].contains { block.hasPrefix($0) }
        }
    }

    private static func compiled() throws -> [String] {
        try [
            "Tests/AsyncHTTPAdapter/Sources", "Tests/DocumentationExamples", "Tests/QueueService/Sources",
            "Tests/ReadmeExample",
        ].flatMap { folder in
            try files(in: folder, suffix: ".swift").flatMap { path in
                blocks(in: lines(try ReadmeTests.text("\(folder)/\(path)")), from: "// SNIPPET", to: "// END")
            }
        }
    }

    @Test("Every example is compiled, and every compiled example is shown")
    func sameText() throws {
        let (shown, compiled) = (try Self.shown(), try Self.compiled())
        #expect(shown.count >= 20)
        for block in shown {
            #expect(compiled.contains(block), "not compiled by the tests:\n\(block)")
        }
        for snippet in compiled {
            #expect(shown.contains(snippet), "shown nowhere:\n\(snippet)")
        }
    }

    @Test("Each article is linked from the landing page of its module")
    func linked() throws {
        let pages = try Self.pages.get()
        for article in pages where !article.isOfSymbol {
            let landing = pages.first { $0.module == article.module && $0.name == article.module }
            let isLinked = landing?.text.contains("\n- <doc:\(article.name)>\n") ?? false
            #expect(isLinked, "\(article.module) does not list <doc:\(article.name)>")
        }
        for page in pages where !page.isOfSymbol {
            let lines = Self.lines(page.text).count
            #expect(lines <= 120, "\(page.name) has \(lines) lines")
        }
        let names = Set(pages.map(\.name))
        for topic in [
            "GettingStarted", "Embedding", "RequestLoop", "ResumeSemantics", "Durability", "Eviction", "Operating",
            "MovingFromURLSession", "MovingFromNuke", "MovingFromAlamofire", "MovingFromCurl", "ManyDownloads",
            "ReadingWhileDownloading", "SeveralConnections", "ConfiguringRequests", "SurvivingCrashes", "SignedURLs",
            "Observability", "ManagingQueues", "WritingATransport", "ResumePolicies", "MemoryOnly", "PausingDownloads",
        ] {
            #expect(names.contains(topic), "\(topic)")
        }
    }

    @Test("Each public type is listed on the landing page of its module", arguments: modules)
    func curated(module: String) throws {
        let landing = try ReadmeTests.text("Sources/\(module)/\(module).docc/\(module).md")
        #expect(landing.hasPrefix("# ``\(module)``\n"))
        var count = 0
        for path in try Self.files(in: "Sources/\(module)", suffix: ".swift") {
            let text = try ReadmeTests.text("Sources/\(module)/\(path)")
            let declaration = /(?m)^public (?:final |indirect )?(?:actor|class|enum|protocol|struct|typealias) (\w+)/
            for match in text.matches(of: declaration) {
                count += 1
                #expect(landing.contains("\n- ``\(match.1)``\n"), "\(match.1) is not among the topics of \(module).md")
            }
        }
        // The types of ResumeMaintenance are nested in those of ResumeStore.
        #expect(count >= 1 || module == "ResumeMaintenance")
    }

    @Test("The page of a type lists each of its public members")
    func members() throws {
        var count = 0
        for page in try Self.pages.get() {
            guard let type = page.text.prefixMatch(of: /# ``\w+\/(\w+)``\n/)?.1 else { continue }
            let members = try Self.members(of: type, in: page.module)
            #expect(members.count >= 10, "\(page.name)")
            count += 1
            for member in members {
                // DocC tells members of one name apart by their types.
                let isListed = ["``\n", "-("].contains { page.text.contains("\n- ``\(member)\($0)") }
                #expect(isListed, "\(type)/\(member) is not on the page \(page.name).md")
            }
        }
        #expect(count >= 3)
    }

    /// The public members of a type and its extensions, as DocC names them, without those of nested types.
    ///
    /// Relies on the format of the sources: top-level code is not indented, members are indented by four spaces.
    private static func members(of type: Substring, in module: String) throws -> Set<String> {
        let type = try Regex(
            "(?ms)^(?:public )?(?:final )?(?:actor|class|enum|extension|struct) \(type)\\b(?!\\.)[^{]*\\{\\n(.*?)^\\}",
            as: (Substring, Substring).self)
        let member =
            /(?m)^ {4}public (?:[\w()]+ )*?(?:(?<name>init)|(?<kind>func|let|struct|enum|class|var|typealias) (?<other>\w+))/
        var members: Set<String> = []
        for path in try files(in: "Sources/\(module)", suffix: ".swift") {
            let text = try ReadmeTests.text("Sources/\(module)/\(path)")
            for body in text.matches(of: type) {
                for match in body.1.matches(of: member) {
                    let name = match.name ?? match.other ?? ""
                    let isCalled = match.name != nil || match.kind == "func"
                    members.insert(name + (isCalled ? labels(of: body.1[match.range.upperBound...]) : ""))
                }
            }
        }
        return members
    }

    /// The argument labels of the first list of parameters in a text.
    private static func labels(of text: Substring) -> String {
        var parameters: [String] = []
        var depth = 0
        var last: Character = " "
        for character in text.drop(while: { $0 != "(" }) {
            if depth == 1, "(,".contains(last) { parameters.append("") }
            if "([{<".contains(character) { depth += 1 }
            if ")]}".contains(character) || character == ">" && last != "-" { depth -= 1 }
            if depth == 0 { break }
            // A comma within a type or a default value begins no parameter.
            last = depth > 1 && ",(".contains(character) ? " " : character
            if depth == 1, !parameters.isEmpty { parameters[parameters.count - 1].append(character) }
        }
        let labels = parameters.compactMap { $0.split { " :\n".contains($0) }.first }
        return "(\(labels.map { "\($0):" }.joined()))"
    }

    /// The lines of all shell examples, without prompts, and their locations.
    private static func shellLines() throws -> [(place: String, line: Substring)] {
        let texts = try pages.get().map { ($0.name, $0.text) } + documents().map { ($0.path, $0.text) }
        return texts.flatMap { place, text in
            let shell = blocks(in: lines(text), from: "```sh", to: "```").flatMap(lines)
            let console = blocks(in: lines(text), from: "```console", to: "```").flatMap(lines)
            let commands = console.filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) }
            return (shell + commands).map { (place, $0) }
        }
    }

    @Test("Every resumectl command in README, articles and docs parses")
    func commands() throws {
        var places: [String: Int] = [:]
        for (place, line) in try Self.shellLines() {
            guard let match = line.firstMatch(of: /(?:^|[ (;&|])resumectl (.*)/) else { continue }
            // An abbreviated digest stands for a whole one.
            let words = Self.words(match.1).map { $0.hasSuffix("…") ? String(repeating: "0", count: 64) : $0 }
            places[place, default: 0] += 1
            #expect((try? ResumeCtl.parseAsRoot(words)) != nil, "\(place): resumectl \(words)")
        }
        #expect(places.values.reduce(0, +) >= 30)
        #expect(places["README.md", default: 0] >= 8)
        #expect(places["docs/resumectl.md", default: 0] >= 12)
    }

    @Test("Every make target in README and docs exists")
    func targets() throws {
        let makefile = try ReadmeTests.text("Makefile")
        var named = try Self.shellLines().compactMap { $0.line.firstMatch(of: /^make ([a-z-]+)/)?.1 }
        for document in try Self.documents() {
            named += document.text.matches(of: /`make ([a-z-]+)/).map(\.1)
        }
        #expect(named.count >= 20)
        for target in Set(named) {
            #expect(makefile.contains("\n\(target):"), "make \(target)")
        }
    }

    @Test("Every relative link in README and docs leads to a file or folder")
    func links() throws {
        var count = 0
        for document in try Self.documents() {
            let folder = ReadmeTests.root.appendingPathComponent(document.path).deletingLastPathComponent()
            for match in document.text.matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)/) {
                count += 1
                let path = folder.appendingPathComponent(String(match.1)).standardizedFileURL.path
                #expect(Files.exists(path), "\(document.path): \(match.1)")
            }
        }
        #expect(count >= 25)
    }

    @Test("Every document in docs is linked from the README")
    func linkedDocuments() throws {
        let readme = try ReadmeTests.text("README.md")
        for path in try Self.files(in: "docs", suffix: ".md") {
            #expect(readme.contains("(docs/\(path))"), "docs/\(path)")
        }
    }

    /// The words of a simple command, up to a comment, a pipe or another operator.
    private static func words(_ command: Substring) -> [String] {
        var words: [String] = []
        for (index, part) in command.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            guard index.isMultiple(of: 2) else {
                words.append(String(part))
                continue
            }
            for word in part.split(separator: " ") {
                if ["#", "|", "&&", "||", ">", "do"].contains(word) { return words }
                words.append(String(word.hasSuffix(";") ? word.dropLast() : word))
                if word.hasSuffix(";") { return words }
            }
        }
        return words
    }
}
