import ArgumentParser

struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration("completions")

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        /// The script that makes the shell ask the program what completes a word.
        ///
        /// The program decides (``CompletionAnswer/Course``); a script only knows how its shell completes files.
        var script: String {
            let bytes =
                switch self {
                case .bash: PackageResources.completion_bash
                case .zsh: PackageResources.completion_zsh
                case .fish: PackageResources.completion_fish
                }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Argument(help: .of("completions/shell")) var shell: Shell

    func run(_ context: CommandContext) async throws { context.output(shell.script) }
}
