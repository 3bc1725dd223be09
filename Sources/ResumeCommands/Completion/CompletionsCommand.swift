import ArgumentParser

/// The command `resumectl completions`.
struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration("completions")

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        /// The script that makes the shell ask the program what completes a word.
        ///
        /// The program decides (``CompletionCourse``); a script only knows how its shell completes files.
        var script: String {
            let others = [.zsh: PackageResources.completion_zsh, .fish: PackageResources.completion_fish][self]
            return String(decoding: others ?? PackageResources.completion_bash, as: UTF8.self)
        }
    }

    @Argument(help: .of("completions/shell")) var shell: Shell

    func run(_ context: CommandContext) async throws { context.output(shell.script) }
}
