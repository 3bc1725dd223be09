internal import ArgumentParser

/// The command `resumectl completions`.
struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a completion script for a shell.",
        discussion: "EXAMPLE:\n  resumectl completions bash > /etc/bash_completion.d/resumectl")

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "Shell to print the script for.")
    var shell: Shell

    func run(_ context: CommandContext) async throws {
        let kind: CompletionShell =
            switch shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        context.print(ResumeCtl.completionScript(for: kind))
    }
}
