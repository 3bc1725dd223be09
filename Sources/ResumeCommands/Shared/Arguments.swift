internal import ArgumentParser

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Folder of the store.",
            discussion: "Default: the variable RESUMECTL_STORE, or 'resumectl' in the user's cache folder.",
            valueName: "dir"))
    var store: String?
}

/// A command that runs in a context, so that tests can run it in their process.
protocol ContextCommand: ParsableCommand {
    func run(_ context: CommandContext) async throws
}
