internal import Foundation
import TestSupport
import Testing

/// The manual pages, which `Scripts/manual.py` makes from the commands.
@Suite(.timeLimit(.minutes(5)))
struct ManualTests {
    @Test("Each command has a page with all sections and options, and groff has nothing to object to")
    func pages() async throws {
        try await TemporaryFolder.with { folder in
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
            let made = try await Shell.outcome(
                root.appendingPathComponent("Scripts/manual.py").standardizedFileURL.path,
                [Resumectl.path, folder.path, "--date", "2026-01-01"])
            #expect(made.status == 0, "\(made.errors)")
            let help = try await Shell.run(Resumectl.path, "--help")
            let commands = help.split(separator: "SUBCOMMANDS:")[1].matches(of: /\n  ([a-z]+)/).map { "\($0.1)" }
            #expect(commands.contains("get"))
            for name in ["resumectl"] + commands.map({ "resumectl-\($0)" }) {
                let page = folder["\(name).1"]
                guard Files.exists(page) else {
                    Issue.record("\(name) has no page")
                    continue
                }
                let checked = try await Shell.outcome("groff", ["-man", "-ww", "-b", "-z", page])
                #expect(checked.status == 0 && checked.errors.isEmpty, "\(name): \(checked.errors)")
                let text = String(decoding: try Files.bytes(page), as: UTF8.self)
                for title in [
                    "NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO",
                ] {
                    #expect(text.contains("\n.SH \(title)\n"), "\(name): \(title)")
                }
                #expect(text.contains("\n.TP\n\\fB75\\fR\nFailed for now"))
            }
            let get = String(decoding: try Files.bytes(folder["resumectl-get.1"]), as: UTF8.self)
            // Of both kinds: those that the help shows, and those that it hides.
            for name in ["output", "input\\-file", "stall\\-timeout", "accept\\-encoding"] {
                #expect(get.contains("\\fB\\-\\-\(name)\\fR"), "\(name)")
            }
            let alias = String(decoding: try Files.bytes(folder["resumectl-ls.1"]), as: UTF8.self)
            #expect(alias == ".so man1/resumectl-list.1\n")
        }
    }
}
