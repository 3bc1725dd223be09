#if !CommandLine
#error("resumectl needs the trait 'CommandLine' of the package resume-store, which is enabled by default")
#endif
import ArgumentParser
import ResumeFiles

struct ResumeCtl: ParsableCommand {
    /// The name, help and subcommands.
    static let configuration = CommandConfiguration(
        "resumectl",
        groups: [
            CommandGroup(
                name: "Download",
                subcommands: [
                    GetCommand.self, ResumeCommand.self, AdoptCommand.self, JobsCommand.self, CancelCommand.self,
                    ForgetCommand.self, SetCommand.self,
                ]),
            CommandGroup(
                name: "Inspect",
                subcommands: [
                    ListCommand.self, ShowCommand.self, StatsCommand.self, LogCommand.self, HistoryCommand.self,
                ]),
            CommandGroup(
                name: "Remove and keep",
                subcommands: [PurgeCommand.self, GcCommand.self, PinCommand.self, UnpinCommand.self]),
            CommandGroup(
                name: "Maintain",
                subcommands: [
                    VerifyCommand.self, DoctorCommand.self, ConfigCommand.self, CompletionsCommand.self,
                ]),
        ])

    /// Returns whether the arguments name a command that may read the whole store, and that nobody needs to wait for.
    static func isMaintenance(_ arguments: [String]) -> Bool {
        [VerifyCommand.configuration, GcCommand.configuration].contains { $0.commandName == arguments.first }
    }

    /// Whether the answer to some arguments is a text, whatever the settings are.
    private static func asksForHelp(_ arguments: [String]) -> Bool {
        ["help", CompletionsCommand.configuration.commandName].contains(arguments.first)
            || arguments.prefix { $0 != "--" }.contains { ["-h", "--help", "--help-hidden", "--version"].contains($0) }
    }

    /// Parses the arguments and runs the command.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the program's name.
    ///   - context: The streams and the environment.
    /// - Returns: The exit status.
    static func run(_ arguments: [String], in context: CommandContext) async -> ExitStatus {
        let status = await runCommand(arguments, in: context)
        let error = context.outputError()
        guard status == .success, error != 0, error != EPIPE else { return status }
        context.say("resumectl: cannot write to standard output: \(SystemError.reason(error))")
        return .io
    }

    private static func runCommand(_ arguments: [String], in context: CommandContext) async -> ExitStatus {
        let arguments = ForeignOptions.replaced(in: arguments, of: Self.self)
        var context = context
        context.arguments = arguments
        if let text = HelpTopic.text(for: arguments) {
            context.printText(text)
            return .success
        }
        if arguments.first == CompletionAnswer.request {
            await CompletionAnswer(context: context, root: Self.self).print(arguments.dropFirst())
            return .success
        }
        if let problem = HelpTopic.problem(with: arguments, of: Self.self)
            ?? ForeignHabit.problem(in: arguments, of: Self.self)
        {
            context.say("Error: \(problem)")
            return .usage
        }
        do {
            let settings = asksForHelp(arguments) ? nil : try Settings(context, of: Self.self)
            var parsed = try settings?.parse(arguments) ?? parse(all: arguments)
            guard let command = parsed as? any ContextCommand else {
                // The parser's own help command, which throws the requested text.
                try parsed.run()
                return .success
            }
            return try await Hint.$store.withValue(Hint.option(in: arguments)) {
                do {
                    try OpenFileLimit.requireEnough()
                    try await command.run(context)
                    return .success
                } catch {
                    throw CommandFailure(error)
                }
            }
        } catch let failure as CommandFailure {
            if !failure.message.isEmpty { context.say("resumectl: \(failure.message)") }
            for line in failure.details { context.say("  \(line)") }
            return failure.status
        } catch {
            // Help and version are results, errors in the arguments are messages.
            let message = fullMessage(for: error)
            guard exitCode(for: error) != .success else {
                context.printText(message)
                return .success
            }
            let text = Redaction.usage(UsageMessage.corrected(message, arguments, of: Self.self), arguments: arguments)
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) { context.say(String(line)) }
            return .usage
        }
    }
}
