import TestSupport
import Testing

/// A program in a terminal: tmux, of which a test reads the screen.
struct Terminal {
    private let folder: TemporaryFolder

    /// Runs a program in a terminal, with the store of a folder, and ends it after the body.
    static func with(
        _ program: String, in folder: TemporaryFolder, width: Int, height: Int, _ body: (Terminal) async throws -> Void
    ) async throws {
        let terminal = Terminal(folder: folder)
        _ = try await terminal.tmux("new-session", "-d", "-x", "\(width)", "-y", "\(height)", program)
        do {
            try await body(terminal)
        } catch {
            _ = try? await terminal.tmux("kill-server")
            throw error
        }
        _ = try await terminal.tmux("kill-server")
    }

    /// Types a text, and then keys by their names.
    func type(_ text: String, _ keys: String...) async throws {
        _ = try await tmux("send-keys", "-l", text)
        for key in keys { _ = try await tmux("send-keys", key) }
    }

    func tmux(_ arguments: String...) async throws -> String {
        let outcome = try await Shell.outcome(
            "tmux", ["-S", folder["tmux"], "-f", "/dev/null"] + arguments,
            environment: Resumectl(folder: folder).environment)
        guard outcome.status == 0 else { throw Shell.Failure(description: "tmux \(arguments): \(outcome.errors)") }
        return outcome.output
    }

    /// The rows of the screen, without empty ones at the end and spaces at the ends of rows.
    func rows() async throws -> [String] {
        var rows = try await tmux("capture-pane", "-p").split(separator: "\n", omittingEmptySubsequences: false)
        while rows.last?.isEmpty == true { rows.removeLast() }
        return rows.map { row in
            var row = row
            while row.last == " " { row.removeLast() }
            return String(row)
        }
    }

    func resize(_ width: Int, _ height: Int) async throws {
        _ = try await tmux("resize-window", "-x", "\(width)", "-y", "\(height)")
    }

    /// Waits until the screen is as expected.
    func expect(
        _ what: String, at location: SourceLocation = #_sourceLocation, _ isExpected: ([String]) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(240)
        var rows: [String] = []
        while ContinuousClock.now < deadline {
            rows = try await self.rows()
            if isExpected(rows) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("\(what), not on the screen:\n\(rows.joined(separator: "\n"))", sourceLocation: location)
        throw Shell.Failure(description: "the screen is not as expected")
    }
}
