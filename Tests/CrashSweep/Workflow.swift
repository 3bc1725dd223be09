internal import OriginServer

/// A file of the origin.
struct ServedFile: Sendable {
    var name: String
    var length: Int64
    var seed: UInt64
    var etag = "\"v1\""

    var content: Content { Content(length: length, seed: seed) }
    var path: String { "/\(name)" }
}

/// A command that is swept over, and the state that it starts from.
struct Workflow: Sendable {
    enum Command: Sendable, Equatable {
        /// `get` of all files.
        case get
        /// `resume` of all files
        case resume
        /// `adopt` of the file that another program has left.
        case adopt
        /// `gc --max-size 0`
        case collect
        /// `purge` of the given number of files, the first ones.
        case purge(Int)
        /// `verify --repair`
        case repair
    }

    /// The prepared state.
    enum Preparation: Sendable, Equatable {
        case nothing
        /// The given number of bytes of each file is stored.
        case held(Int64)
        /// The same, of earlier content of the origin.
        case heldOfOlder(Int64)
        /// Everything is stored, but not delivered.
        case undelivered
        /// The same as `held`, in a store made by the first release.
        case firstSchema(Int64)
        /// Another program has left a file with the given number of bytes of the first file, or of its earlier content.
        case foreign(Int64, isOlder: Bool)
        /// The given number of bytes of each file is stored. The first one's blob was then truncated, the second one's
        /// is missing, and there is a blob without a row.
        case damaged(Int64)
    }

    var name: String
    var files: [ServedFile]
    var preparation = Preparation.nothing
    var command = Command.get
    var options: [String] = []
    /// Whether `get` reads the URLs from a list.
    var isList = false
    /// Whether files are delivered to a different file system from the store's.
    var deliversElsewhere = false
    /// Whether a file with the first one's name already exists.
    var replacesFile = false
    /// Whether the disk has room for the first file only if the others, which have not been used for days, are removed.
    var fillsDisk = false
    /// The number of connections for each file.
    var connections = 1
    /// Only one in this many of the points of a sweep is visited.
    var thinning = 1
    /// The faults that always apply.
    var rules = ""
    /// The wanted range of the file, with `--range`.
    var selection: Range<Int64>?

    /// What another program has left of the first file, or of an older one with its name; nil if nothing.
    var foreign: (bytes: [UInt8], isOlder: Bool)? {
        guard case .foreign(let length, let isOlder) = preparation else { return nil }
        let content = Content(length: files[0].length, seed: files[0].seed + (isOlder ? Self.older : 0))
        return (content.bytes(in: 0..<length), isOlder)
    }

    /// What the seed of earlier content differs by.
    static let older: UInt64 = 500

    /// The files that `get` requests.
    var wanted: [ServedFile] { fillsDisk ? [files[0]] : files }

    /// These rules and additional ones.
    func rules(and more: String) -> String { [rules, more].filter { !$0.isEmpty }.joined(separator: ";") }

    /// The bytes of a file that must be delivered.
    func expected(_ file: ServedFile) -> [UInt8] { file.content.bytes(in: selection ?? file.content.all) }
}

extension Workflow {
    /// The workflows, with contents that depend on a seed.
    static func all(seed: UInt64) -> [Workflow] {
        let base = seed &* 1000
        func file(_ name: String, _ length: Int64, _ number: UInt64) -> ServedFile {
            ServedFile(name: "\(name).bin", length: length + Int64(seed % 7) * 4099, seed: base + number)
        }
        let mebibyte: Int64 = 1 << 20
        let three = (0..<3).map { file("part\($0)", 5 * mebibyte / 4, 20 + UInt64($0)) }
        return [
            Workflow(name: "fresh", files: [file("fresh", 5 * mebibyte / 2, 1)]),
            Workflow(name: "large", files: [file("large", 6 * mebibyte, 2)], replacesFile: true),
            Workflow(name: "small", files: [file("small", 70_000, 3)]),
            Workflow(name: "small-several", files: (0..<4).map { file("little\($0)", 20_000, 30 + UInt64($0)) }),
            // While the first file is synced, the others arrive, and are delivered together.
            Workflow(
                name: "small-batch", files: (0..<20).map { file("tiny\($0)", 8_000, 40 + UInt64($0)) },
                rules: "fdatasync@/blobs/#:delay=400000:1"),
            Workflow(
                name: "small-batch-replacing", files: (0..<20).map { file("next\($0)", 8_000, 70 + UInt64($0)) },
                replacesFile: true, rules: "fdatasync@/blobs/#:delay=400000:1"),
            Workflow(
                name: "small-batch-256", files: (0..<256).map { file("mite\($0)", 2_000, 100 + UInt64($0)) },
                thinning: 16, rules: "fdatasync@/blobs/#:delay=400000:1"),
            Workflow(name: "small-replacing", files: [file("replaced", 70_000, 16)], replacesFile: true),
            Workflow(name: "small-elsewhere", files: [file("away", 70_000, 17)], deliversElsewhere: true),
            Workflow(name: "resume", files: [file("resume", 3 * mebibyte, 4)], preparation: .held(3 * mebibyte / 2)),
            Workflow(
                name: "changed", files: [file("changed", 2 * mebibyte, 5)], preparation: .heldOfOlder(mebibyte)),
            Workflow(name: "sha256", files: [file("sha256", 2 * mebibyte, 6)], options: ["--sha256"]),
            Workflow(name: "named", files: [file("named", 2 * mebibyte, 14)], options: ["-J"]),
            Workflow(
                name: "named-elsewhere", files: [file("called", 2 * mebibyte, 15)], options: ["-J"],
                deliversElsewhere: true),
            Workflow(
                name: "range", files: [file("range", 3 * mebibyte, 7)], options: ["--range"],
                selection: 100_000..<2_100_000),
            Workflow(name: "several", files: three),
            Workflow(
                name: "list", files: (0..<12).map { file("line\($0)", 8_000, 80 + UInt64($0)) } + three, isList: true),
            Workflow(name: "resume-list", files: three, preparation: .held(600_000), command: .resume, isList: true),
            Workflow(
                name: "adopt", files: [file("adopt", 2 * mebibyte, 18)],
                preparation: .foreign(3 * mebibyte / 2, isOlder: false), command: .adopt),
            Workflow(
                name: "adopt-changed", files: [file("other", 2 * mebibyte, 19)],
                preparation: .foreign(3 * mebibyte / 2, isOlder: true)),
            Workflow(name: "segments", files: [file("segments", 8 * mebibyte, 13)], connections: 3),
            Workflow(name: "deliver", files: [file("deliver", 2 * mebibyte, 8)], preparation: .undelivered),
            Workflow(
                name: "elsewhere", files: [file("elsewhere", 2 * mebibyte, 9)], deliversElsewhere: true),
            Workflow(
                name: "deliver-elsewhere", files: [file("there", 2 * mebibyte, 10)], preparation: .undelivered,
                deliversElsewhere: true),
            Workflow(name: "evict", files: three, preparation: .held(700_000), command: .collect),
            Workflow(
                name: "make-room", files: [file("wanted", 3 * mebibyte, 11)] + three, preparation: .held(900_000),
                fillsDisk: true),
            Workflow(name: "purge", files: three, preparation: .held(600_000), command: .purge(2)),
            Workflow(name: "repair", files: three, preparation: .damaged(600_000), command: .repair),
            Workflow(
                name: "migrate", files: [file("migrate", 2 * mebibyte, 12)], preparation: .firstSchema(mebibyte)),
        ]
    }
}
