@testable import ResumeCommands
import TestSupport
import Testing

/// How a command line ended, and what it printed.
struct Outcome: Sendable {
    /// The command line, for messages of failed tests.
    var arguments: [String]
    var status: ResumeCommands.ExitStatus
    var output: String
    var errors: String

    /// Standard error on one line: in a terminal, messages are broken between words.
    var message: String { errors.replacing("\n", with: " ") }

    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The lines of standard output, each as JSON.
    var json: [JSONText] {
        get throws { try lines.map { try JSONText(parsing: $0) } }
    }

    /// The one line of standard output as JSON.
    var object: JSONText {
        get throws {
            try #require(lines.count == 1, "not one line: \(output)")
            return try JSONText(parsing: output)
        }
    }

    /// The events of `get --json` by their names.
    var events: [String] {
        get throws { try json.map { $0["event"]?.string ?? "none" } }
    }

    /// Expects an exit status, texts on standard error that it says or hides, and texts on standard output.
    @discardableResult
    func expect(
        _ status: ResumeCommands.ExitStatus? = nil, says texts: String..., hides others: String...,
        prints results: String..., at location: SourceLocation = #_sourceLocation
    ) -> Outcome {
        if let status { #expect(self.status == status, "\(self)", sourceLocation: location) }
        for text in texts { #expect(errors.contains(text), "\(self)", sourceLocation: location) }
        for text in others { #expect(!errors.contains(text), "\(self)", sourceLocation: location) }
        for text in results { #expect(output.contains(text), "\(self)", sourceLocation: location) }
        return self
    }

    /// Holds the output against what the contract says of every command.
    func check(_ arguments: [String], isTerminal: Bool, at location: SourceLocation) {
        let name = arguments.first ?? "resumectl"
        let shown = name.debugDescription
        var talk = errors
        if isTerminal { talk = talk.replacing(/\r|\e\[\d*[AJK]/, with: "") }
        // A script may hold tabs, as may a format; what a person reads holds line ends only.
        let mayHoldTabs = ["completions", "---complete"].contains(name) || arguments.contains("--format")
        let data = mayHoldTabs ? output.replacing("\t", with: "") : output
        #expect(Shell.hidden(in: data).isEmpty, "standard output of \(shown)", sourceLocation: location)
        #expect(Shell.hidden(in: talk).isEmpty, "standard error of \(shown)", sourceLocation: location)
        if arguments.contains("--json"), !arguments.contains("--help"), name != "---complete" {
            for line in lines {
                #expect(throws: Never.self, "\(line)", sourceLocation: location) { try JSONText(parsing: line) }
            }
        }
        switch status {
        case .success, .outputClosed: break
        case .usage: #expect(output.isEmpty && !errors.isEmpty, sourceLocation: location)
        default: #expect(!errors.isEmpty || name == "doctor", "\(name) said nothing", sourceLocation: location)
        }
    }
}
