internal import TestSupport

/// One planted store and the actions on it, derived only from a seed and a number.
struct FuzzCase: Sendable, CustomStringConvertible {
    /// The first actions on the store.
    enum Step: Sendable {
        /// Statements, with the types of columns checked or not.
        case rows([String], isTyped: Bool)
        /// Damage of a file of the store; a missing file is created.
        case pages(String, PageDamage)
        /// Something else under the name of a blob.
        case blob(Int, BlobDamage)
    }

    enum BlobDamage: String, Sendable, CaseIterable {
        case removed, truncated, empty, folder, pipe, symbolicLink, symbolicLinkToItself, hardLink
    }

    /// The commands that follow.
    enum Command: Sendable {
        case tool([String])
        /// `get` of a key, of a version.
        case get(key: String, version: Int, options: [String])
        /// The library, in a separate process.
        case library(version: Int, seed: UInt64)
    }

    let seed: UInt64
    let number: Int
    /// Whether the log holds the rows.
    let isHot: Bool
    private(set) var steps: [Step] = []
    private(set) var commands: [Command] = []

    init(seed: UInt64, number: Int, columns: [PristineStore.Column], forbidden: [String], lengths: [String: Int]) {
        self.seed = seed
        self.number = number
        var random = SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(number))
        isHot = random.happens(30)
        let kind = Int.random(in: 0..<10, using: &random)
        if kind < 6 {
            var planter = RowPlanter(columns: columns, forbidden: forbidden, random: SplitMix64(seed: random.next()))
            let statements = (0..<Int.random(in: 1...6, using: &random)).map { _ in planter.statement() }
            steps.append(.rows(statements, isTyped: random.happens(60)))
        }
        if kind >= 5, kind < 9 {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let (name, header) = random.pick(
                    [("store.sqlite", 100), ("store.sqlite", 100), ("store.sqlite-wal", 56), ("store.sqlite-shm", 136)])
                let length = lengths[isHot ? "hot/\(name)" : name] ?? 40_000
                steps.append(.pages(name, .random(length: length, header: header, using: &random)))
            }
        }
        if kind == 9 || random.happens(10) {
            steps.append(.blob(Int.random(in: 0..<3, using: &random), random.pick(BlobDamage.allCases)))
        }
        commands = (0..<Int.random(in: 2...5, using: &random)).map { _ in Self.command(using: &random) }
    }

    private static func command(using random: inout SplitMix64) -> Command {
        let key = random.pick(PristineStore.keys)
        let version = random.happens(70) ? 1 : 2
        if random.happens(25) { return .library(version: version, seed: random.next()) }
        if random.happens(25) {
            let options: [String] = random.pick(
                [[], [], ["--allow-unvalidated"], ["--connections", "4"], ["--restart"]])
            return .get(key: key, version: version, options: options)
        }
        return .tool(
            random.pick([
                ["list"], ["list", "--json"], ["show", key], ["show", key, "--json"], ["stats"], ["log"],
                ["log", "--json"], ["doctor"], ["doctor", "--json"], ["verify"], ["verify", "--repair"],
                ["gc"], ["gc", "--max-size", "250000"], ["gc", "--max-age", "1d"], ["gc", "--dry-run"], ["purge", key],
                ["purge", "--all"], ["purge", "--all", "--include-pinned", "--yes"],
                ["list", "--sort", "url", "--reverse"],
                ["log", "-n", "0", "--since", "1d"], ["pin", key], ["unpin", key], ["set", "--limit-rate", "none"],
                ["doctor", "--rebuild"],
                ["---complete", "fish", "unpin", ""], ["---complete", "zsh", "resume", ""],
            ]))
    }

    var description: String {
        let lines = steps.map { "\($0)" } + commands.map { "\($0)" }
        return "--seed \(seed) --first \(number) --count 1\(isHot ? " (log)" : "")\n  "
            + lines.map { String($0.prefix(600)) }.joined(separator: "\n  ")
    }
}
