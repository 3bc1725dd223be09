import ArgumentParser
import ResumeStore

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option(help: .value("dir", "Store, instead of RESUMECTL_STORE or the cache folder."), completion: .directory)
    var store: String?

    @Option(help: .hidden("Maximum size of the store (default: 16GiB).", "size"), transform: ByteCount.argument)
    var storeMaxSize: ByteCount?

    @Option(
        help: .hidden("Remove entries not used for this long (default: 30d).", "time"), transform: TimeSpan.argument)
    var storeMaxAge: TimeSpan?
}

/// The argument of commands that work on one entry.
struct EntryArgument: ParsableArguments {
    @Argument(help: .value("entry", "Key, URL, destination, or a part of them that no other entry has."))
    var name: String
}

/// The arguments of commands that work on several entries.
struct EntryArguments: ParsableArguments {
    @Argument(help: .value("entry", "Keys, URLs, destinations, or parts of them that no other entry has."))
    var names: [String] = []
}

/// The conditions that select entries.
struct EntryConditions: ParsableArguments {
    @Option(help: .value("glob", "Only entries whose key or URL matches; * and ? are wildcards."))
    var match: Glob?

    @Option(typed: "Only entries not used for this long, such as 12h or 7d.")
    var olderThan: TimeSpan?

    /// Whether an entry meets the conditions.
    func select(_ entry: Entry, now: Int64) -> Bool {
        let isMatch = match.map { $0.matches(entry.key) || $0.matches(entry.url) } ?? true
        // A time span is not negative, so this cannot overflow, whatever the row contains.
        return isMatch && olderThan.map { entry.usedAt < now - $0.milliseconds } ?? true
    }
}

extension ParsableArguments {
    /// Throws an error about the arguments if a condition is true.
    func refuse(_ isWrong: Bool, _ message: @autoclosure () -> String) throws {
        if isWrong { throw ValidationError(message()) }
    }

    /// Throws an error about an option whose number is outside of a range.
    func require(_ number: Int?, in range: ClosedRange<Int>, _ option: String) throws {
        try require(
            number.map(range.contains) ?? true, "\(option) must be between \(range.lowerBound) and \(range.upperBound)")
    }

    /// Throws an error about options that are given together.
    func exclude(_ areGiven: Bool, _ options: String, with others: String? = nil) throws {
        try refuse(areGiven, "\(options) cannot be combined\(others.map { " with \($0)" } ?? "")")
    }

    /// Throws an error about the arguments unless a condition is true.
    func require(_ isRight: Bool, _ message: @autoclosure () -> String) throws { try refuse(!isRight, message()) }
}

extension NameSpecification {
    /// The names of an option, separated by spaces; its value may follow a letter at once.
    static func option(_ names: String) -> NameSpecification { named(names, isJoined: true) }

    /// The names of a flag, separated by spaces.
    static func flag(_ names: String) -> NameSpecification { named(names, isJoined: false) }

    private static func named(_ names: String, isJoined: Bool) -> NameSpecification {
        NameSpecification(
            names.split(separator: " ").map { name in
                let name = String(name)
                return name.count > 1 ? .customLong(name) : .customShort(Character(name), allowingJoined: isJoined)
            })
    }
}

extension Optional {
    /// Returns the value of an option that was parsed, or throws an error with the accepted forms.
    func orRefuse(_ accepted: String) throws -> Wrapped {
        guard let self else { throw ValidationError(accepted) }
        return self
    }
}

extension ArgumentHelp {
    /// The help of an option that only --help-hidden shows.
    static func hidden(_ abstract: String, _ valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(abstract, valueName: valueName, visibility: .hidden)
    }

    /// The help of an option with a value.
    static func value(_ name: String, _ abstract: String) -> ArgumentHelp { ArgumentHelp(abstract, valueName: name) }
}

/// A command that runs in a context, so that tests can run it in their process.
protocol ContextCommand: ParsableCommand {
    func run(_ context: CommandContext) async throws
}
