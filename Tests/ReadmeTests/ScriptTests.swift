import Foundation
import TestSupport
import Testing

/// Scripts that check or build the package, each in a folder with what it reads.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Shell.has("python3"), "needs Python 3"))
struct ScriptTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["Scripts", "Sources", "docs"] {
            try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: true)
        }
    }

    /// Runs a copy of a script in the folder, and removes the folder.
    private func run(_ script: String, _ arguments: String...) async throws -> Shell.Outcome {
        let source = ReadmeTests.root.appendingPathComponent("Scripts/\(script)").standardizedFileURL.path
        try FileManager.default.copyItem(atPath: source, toPath: folder["Scripts/\(script)"])
        let command = "cd \"$0\" && exec python3 \"Scripts/$@\""
        return try await Shell.outcome("sh", ["-c", command, folder.path, script] + arguments)
    }

    @Test(
        "The budget of lines fails for too many lines, and for lines that are denser than before",
        arguments: [
            (lines: 29_850, line: "let a = b", status: 0 as Int32), (29_851, "let a = b", 1),
            (1, "f(a, b, c, d)", 0), (1, "f(a, b, c, d, e)", 1), (0, "", 1),
        ])
    func budget(lines: Int, line: String, status: Int32) async throws {
        defer { folder.remove() }
        // Comments and blank lines are no code.
        let text = String(repeating: "\(line)\n\n    // A comment, which is long.\n", count: lines)
        try Files.write(Array(text.utf8), to: folder["Sources/a.swift"])
        let outcome = try await run("check-budget.py")
        #expect(outcome.status == status, "\(outcome.output)\(outcome.errors)")
    }

    @Test("Without a build, or with half of one, the list of the public API is not written", arguments: [false, true])
    func apiWithoutBuild(isPartlyBuilt: Bool) async throws {
        defer { folder.remove() }
        try Files.write(Array("ResumeHTTP known\n".utf8), to: folder["docs/api.txt"])
        if isPartlyBuilt {
            try FileManager.default.createDirectory(
                atPath: folder[".build/debug/Modules"], withIntermediateDirectories: true)
            try Files.write([], to: folder[".build/debug/Modules/ResumeHTTP.swiftmodule"])
        }
        let outcome = try await run("api.py")
        #expect(outcome.status != 0 && outcome.errors.contains("Build the package first"), "\(outcome.errors)")
        #expect(try Files.bytes(folder["docs/api.txt"]) == Array("ResumeHTTP known\n".utf8))
    }

    @Test("A value of the package's control file is data, whatever is in it")
    func fill() async throws {
        defer { folder.remove() }
        try Files.write(Array("By: @NAME@\nOf: @DATE@\n".utf8), to: folder["template"])
        let name = "Ann $(touch \(folder["made"]))|e;s|x|`id`&\\1 @DATE@ <ann@example.org>"
        let outcome = try await run("fill.py", "template", "NAME=\(name)", "DATE=1")
        #expect(outcome.output == "By: \(name)\nOf: 1\n", "\(outcome.errors)")
        #expect(!Files.exists(folder["made"]))
        #expect(try await Shell.outcome("grep", ["-n", "sed .*\\$maintainer", dist]).status == 1)
    }

    private var dist: String { ReadmeTests.root.appendingPathComponent("Scripts/dist.sh").standardizedFileURL.path }

    @Test(
        "A value that would add a field, a missing value and an unknown one are refused",
        arguments: [["NAME=a\nDepends: b", "DATE=1"], ["NAME=a"], ["NAME=a", "DATE=1", "OTHER=2"]])
    func refusedValues(values: [String]) async throws {
        defer { folder.remove() }
        try Files.write(Array("@NAME@ @DATE@".utf8), to: folder["template"])
        let source = ReadmeTests.root.appendingPathComponent("Scripts/fill.py").standardizedFileURL.path
        let outcome = try await Shell.outcome(source, [folder["template"]] + values)
        #expect(outcome.status != 0 && outcome.output.isEmpty && outcome.errors.hasPrefix("fill.py: "))
    }
}
