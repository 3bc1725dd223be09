import ArgumentParser
import Foundation
import ResumeCommands
import TestSupport
import Testing

/// What the catalogues show compiles, is found, and names all there is.
@Suite(.timeLimit(.minutes(5)))
struct DocumentationTests {
    static let modules = ["ResumeAsyncHTTP", "ResumeDownload", "ResumeHTTP", "ResumeStore", "ResumeURLSession"]

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

    /// The files in a folder and all below it, by their paths from there.
    private static func files(in folder: String, suffix: String) throws -> [String] {
        let path = ReadmeTests.root.appendingPathComponent(folder).standardizedFileURL.path
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// The blocks between a line that opens and the next one that closes, without their common indentation.
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

    /// What is shown of this package's API, in articles and in comments: `Before` is somebody else's, and a manifest is
    /// compared by another test.
    private static func shown() throws -> [String] {
        var shown = try pages.get().flatMap { blocks(in: lines($0.text), from: "```swift", to: "```") }
        for path in try files(in: "Sources", suffix: ".swift") {
            let comments = lines(try ReadmeTests.text("Sources/\(path)")).compactMap { line -> Substring? in
                let text = line.drop { $0 == " " }
                return text.hasPrefix("///") ? text.dropFirst(text.hasPrefix("/// ") ? 4 : 3) : nil
            }
            shown += blocks(in: comments, from: "```swift", to: "```")
        }
        return shown.filter { !$0.hasPrefix("// Before") && !$0.hasPrefix("// Package.swift") }
    }

    private static func compiled() throws -> [String] {
        let folder = "Tests/DocumentationExamples"
        return try files(in: folder, suffix: ".swift").flatMap { path in
            blocks(in: lines(try ReadmeTests.text("\(folder)/\(path)")), from: "// SNIPPET", to: "// END")
        }
    }

    @Test("What is shown is compiled, and what is compiled is shown")
    func sameText() throws {
        let (shown, compiled) = (try Self.shown(), try Self.compiled())
        #expect(shown.count >= 20)
        for block in shown {
            #expect(compiled.contains(block), "not in Tests/DocumentationExamples:\n\(block)")
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
        let names = Set(pages.map(\.name))
        for topic in [
            "GettingStarted", "Embedding", "ResumeSemantics", "Durability", "Eviction", "Operating",
            "MovingFromURLSession", "MovingFromNuke", "MovingFromAlamofire", "MovingFromCurl", "ManyDownloads",
            "ReadingWhileDownloading", "SeveralConnections",
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
                let isListed = landing.contains("\n- ``\(match.1)``\n")
                #expect(isListed, "\(match.1) is not among the topics of \(module).md")
            }
        }
        #expect(count >= 1)
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
                let isListed = page.text.contains("\n- ``\(member)``\n")
                #expect(isListed, "\(type)/\(member) is not on the page \(page.name).md")
            }
        }
        #expect(count >= 3)
    }

    /// The public members of a type and its extensions, as DocC names them; those of types within it are not looked at.
    ///
    /// Goes by the format of the sources: what is at the top stands at the margin, its members four spaces in.
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

    @Test("Each resumectl command that the articles show is one that it takes")
    func commands() throws {
        var count = 0
        for page in try Self.pages.get() {
            for line in Self.blocks(in: Self.lines(page.text), from: "```sh", to: "```").flatMap(Self.lines) {
                guard let start = line.firstRange(of: "resumectl ")?.upperBound else { continue }
                let words = Self.words(line[start...])
                count += 1
                let command = try? ResumeCtl.parseAsRoot(words)
                #expect(command != nil, "\(page.name): resumectl \(words)")
            }
        }
        #expect(count >= 15)
    }

    /// The words of a simple command, up to what is not of it any more.
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
