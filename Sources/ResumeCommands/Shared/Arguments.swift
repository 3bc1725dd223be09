import ArgumentParser
import ResumeStore

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option("store", completion: .directory) var store: String?
    @Flag("store-shared") var storeShared = false
    @Option("store-max-size", transform: ByteCount.argument) var storeMaxSize: ByteCount?
    @Option("store-max-age", transform: TimeSpan.argument) var storeMaxAge: TimeSpan?
}

/// The conditions that select entries.
struct EntryConditions: ParsableArguments {
    @Option("match") var match: Glob?
    @Option("older-than") var olderThan: TimeSpan?

    /// Whether an entry meets the conditions.
    func select(_ entry: Entry, now: Int64) -> Bool {
        let isMatch = match.map { $0.matches(entry.key) || $0.matches(entry.url) } ?? true
        // A time span is not negative, so this cannot overflow, whatever the row contains.
        return isMatch && olderThan.map { entry.times.used < now - $0.milliseconds } ?? true
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

extension Optional {
    /// Returns the value of an option that was parsed, or throws an error with the accepted forms.
    func orRefuse(_ accepted: @autoclosure () -> String) throws -> Wrapped {
        guard let self else { throw ValidationError(accepted()) }
        return self
    }
}

/// A command that runs in a context, so that tests can run it in their process.
protocol ContextCommand: ParsableCommand {
    func run(_ context: CommandContext) async throws
}
