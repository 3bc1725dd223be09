#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// The environment of a command, so that the whole command line can also run in a test.
struct CommandContext {
    /// Writes results to standard output.
    var output: @Sendable (String) -> Void
    /// Writes the bytes of a file to standard output, and returns the number of the error, or 0.
    var bytes: @Sendable ([UInt8]) -> Int32
    /// Writes messages to standard error.
    var errors: @Sendable (String) -> Void
    var environment: [String: String]
    /// The error number of a failed write of results; `EPIPE` if nothing reads them any more, 0 if none failed.
    var outputError: @Sendable () -> Int32 = { 0 }
    /// Whether a folder ignores the case of names, which is tried with files.
    var ignoresCase: @Sendable (_ folder: String) -> Bool = {
        (try? FolderAbilities(of: Folder($0, followsLinks: true)).missing.contains(.letterCase)) ?? false
    }
    /// Returns the size of the terminal on standard error, which may change; nil if it is not a terminal.
    var terminalSize: @Sendable () -> Terminal.Size? = { nil }
    /// The width of the terminal on standard output; nil if it is not a terminal.
    var outputWidth: Int?
    /// Asks a question and returns whether the answer is yes; nil if there is no terminal to ask in.
    var confirm: (@Sendable (String) -> Bool)?

    /// The arguments of the command line, without the program's name.
    var arguments: [String] = []

    /// Makes a context without a terminal, in which the bytes of a file are written like results.
    init(
        output: @escaping @Sendable (String) -> Void, errors: @escaping @Sendable (String) -> Void,
        environment: [String: String]
    ) {
        self.output = output
        bytes = {
            output(String(decoding: $0, as: UTF8.self))
            return 0
        }
        self.errors = errors
        self.environment = environment
    }

    /// Makes a context with the process's own streams and environment.
    static func process(environment: [String: String]) -> CommandContext {
        let failure = Mutex<Int32>(0)
        var context = CommandContext(
            output: { text in
                let number = put(text.utf8, to: STDOUT_FILENO)
                // It is no failure if a reader such as `head` closes the pipe.
                failure.withLock { if number != 0, $0 == 0 || $0 == EPIPE { $0 = number } }
            }, errors: { _ = put($0.utf8, to: STDERR_FILENO) }, environment: environment)
        context.bytes = { put($0, to: STDOUT_FILENO) }
        // A terminal that can only print lines has a width, but no lines can be replaced.
        context.terminalSize = { environment["TERM"] == "dumb" ? nil : size(of: STDERR_FILENO) }
        context.outputWidth = size(of: STDOUT_FILENO)?.width
        if isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 { context.confirm = isConfirmed }
        context.outputError = { failure.withLock { $0 } }
        return context
    }

    /// Asks a question in the terminal; the end of the input, or an interruption, means no.
    @Sendable private static func isConfirmed(_ question: String) -> Bool {
        _ = put("\(question) [y/N] ".utf8, to: STDERR_FILENO)
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&input, 1, 100) <= 0 { if Task.isCancelled { return false } }
        return ["y", "yes"].contains(readLine()?.lowercased()) && !Task.isCancelled
    }

    /// Returns an unknown key as it may be shown, or else "for" and the number of the argument.
    func shown(_ text: String) -> String {
        Redaction.typed(text) ?? "for \(position(of: text))"
    }

    /// Returns the number, after the command's name, of an argument that is not the value of an option, as far as that can
    /// be decided.
    func position(of argument: String) -> String {
        let equal = arguments.indices.filter { arguments[$0] == argument }
        let index = equal.first { $0 == 0 || !arguments[$0 - 1].hasPrefix("-") } ?? equal.first
        return index.map { "argument \($0)" } ?? "the argument"
    }

    /// Prints a line of results, in which nothing can control a terminal; there, it is broken between words.
    func print(_ line: String) { printText(Printable.escaped(line)) }

    /// Prints an object of results.
    func print(_ object: JSONObject) { output(object.json + "\n") }

    /// Prints an object of results, or a line of them if they are not in JSON.
    func print(_ object: @autoclosure () -> JSONObject, if json: Bool, or line: @autoclosure () -> String) {
        if json { print(object()) } else { print(line()) }
    }

    /// Prints a path on one line, so that it can be copied.
    func printPath(_ path: String) { output(Printable.escaped(path) + "\n") }

    /// Prints a text for people on standard output; in a terminal, it is broken between words.
    func printText(_ text: String) { output(Terminal.wrapped(text, to: outputWidth) + "\n") }

    /// Prints a message on standard error, in which nothing can control a terminal; there, it is broken between words.
    func say(_ line: String) {
        let line = Printable.escaped(line)
        errors(Terminal.wrapped(line, to: terminalSize()?.width) + "\n")
    }

    /// - Returns: 0, or the error number of a failed write, which must not end a download.
    static func put(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Int32 {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return 0
    }

    private static func size(of descriptor: Int32) -> Terminal.Size? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        let isKnown = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
        return isKnown ? Terminal.Size(width: Int(size.ws_col), height: Int(size.ws_row)) : .standard
    }

    /// Returns the path of the store: the option, `RESUMECTL_STORE`, or a folder in the user's cache folder.
    func storePath(_ option: String?) throws -> String {
        if let path = option ?? environment["RESUMECTL_STORE"].flatMap({ $0.isEmpty ? nil : $0 }) {
            guard !path.isEmpty, !path.contains("://") else {
                let name = option == nil ? "RESUMECTL_STORE" : "--store"
                throw CommandFailure(.usage, "\(name) requires the path of a folder")
            }
            return path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
        }
        #if os(macOS)
        let cache = environment.folder(nil, inHome: "Library/Caches")
        #else
        let cache = environment.folder("XDG_CACHE_HOME", inHome: ".cache")
        #endif
        guard let cache else {
            let home = environment["HOME"] ?? ""
            let problem = home.isEmpty ? "set" : "an absolute path: \(ShellWord.quoted(home))"
            throw CommandFailure(.usage, sentence("no-home", problem))
        }
        return "\(cache)/resumectl"
    }

    /// Opens the store for a command that only reads, as ``withStore(_:creating:_:)``.
    ///
    /// - Returns: The result of the body; nil if the store does not exist yet.
    func withExistingStore<Result>(
        _ options: StoreOptions,
        configuring: (inout DownloadStore.Configuration) -> Void = { _ in },
        _ body: (DownloadStore) async throws -> Result
    ) async throws -> Result? {
        do {
            return try await withStore(options, configuring: configuring, body)
        } catch let error as StoreError where error.code == .noStore {
            return nil
        }
    }

    /// The number of entries from which on converting a store takes seconds.
    private static let manyEntries = 50_000

    /// Opens the store and closes it after the body, even if that throws.
    func withStore<Result>(
        _ options: StoreOptions, creating: Bool = false,
        configuring: (inout DownloadStore.Configuration) -> Void = { _ in },
        _ body: (DownloadStore) async throws -> Result
    ) async throws -> Result {
        var configuration = DownloadStore.Configuration()
        configuration.maximumSize = options.storeMaxSize?.bytes ?? configuration.maximumSize
        configuration.maximumAge = options.storeMaxAge?.duration ?? configuration.maximumAge
        configuration.isShared = options.storeShared
        // The commands run in a task of default priority (`EntryPoint`).
        configuration.sharesThreads = true
        let told = Atomic<Int64>(0)
        configuration.onMigration = { converted, entries in
            let tenth = converted / max(entries / 10, 1)
            guard entries >= Self.manyEntries, told.exchange(tenth, ordering: .relaxed) != tenth else { return }
            say("converting the store to a newer format: \(converted) of \(entries) entries")
        }
        configuring(&configuration)
        let store = try await DownloadStore.open(
            at: try storePath(options.store), creating: creating, configuration: configuration)
        let result = await Swift.Result { try await body(store) }
        await store.close()
        return try result.get()
    }
}

extension [String: String] {
    /// The environment of the process; each value may be a path.
    static var ofProcess: [String: String] {
        var values = ProcessInfo.processInfo.environment
        for name in values.keys {
            values[name] = unsafe getenv(name).map { unsafe String(systemPath: $0) }
        }
        return values
    }

    /// Returns the folder that a variable names with an absolute path, or else one in the user's home.
    ///
    /// A relative path is ignored, as the [XDG Base Directory
    /// Specification](https://specifications.freedesktop.org/basedir-spec/latest/) demands: it would be another folder
    /// in each working folder.
    func folder(_ variable: String?, inHome name: String) -> String? {
        absolutePath(variable) ?? absolutePath("HOME").map { "\($0)/\(name)" }
    }

    private func absolutePath(_ variable: String?) -> String? {
        guard let path = variable.flatMap({ self[$0] }),
            path.utf8.first == .slash
        else { return nil }
        return path
    }
}
