import ArgumentParser

/// The command `resumectl completions`.
struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration("completions")

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "Shell to print the script for.")
    var shell: Shell

    func run(_ context: CommandContext) async throws { context.output(shell.script) }
}
