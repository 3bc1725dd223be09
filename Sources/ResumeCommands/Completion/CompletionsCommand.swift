import ArgumentParser

/// The command `resumectl completions`.
struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a completion script for a shell.",
        discussion: """
            The script asks resumectl how to complete a word: commands, options, files, and the keys and destinations \
            of the store.

            EXAMPLE:
              resumectl completions bash > ~/.local/share/bash-completion/completions/resumectl
              resumectl completions zsh > /usr/local/share/zsh/site-functions/_resumectl
              resumectl completions fish > ~/.config/fish/completions/resumectl.fish
            """)

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "Shell to print the script for.")
    var shell: Shell

    func run(_ context: CommandContext) async throws { context.output(shell.script) }
}
