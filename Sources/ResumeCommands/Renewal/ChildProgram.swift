internal import ResumeFiles
internal import Synchronization

/// A child process whose output is read to its end.
struct ChildProgram: Sendable {
    /// An environment variable with which it learns what it is needed for.
    enum Variable: String {
        case key = "RESUMECTL_KEY"
        case path = "RESUMECTL_PATH"
        case status = "RESUMECTL_STATUS"
        case url = "RESUMECTL_URL"
    }

    /// The maximum number of bytes that are read.
    private static let longest = 65_536

    private let words: [String]
    /// The option that names it, for messages.
    private let option: String
    private let environment: [Variable: String]
    /// What it reads.
    private let input: [UInt8]
    private let child = Child()

    /// The running process, which is told to end by SIGTERM, and ended two seconds later.
    private final class Child: Sendable {
        private struct State {
            /// 0 if there is none.
            var number: pid_t = 0
            /// When it was told to end.
            var end: ContinuousClock.Instant?
        }

        private let state = Mutex(State())

        var isEnding: Bool { state.withLock { $0.end != nil } }

        /// Tells the process to end, also if it starts only now.
        func end() {
            state.withLock { state in
                state.end = state.end ?? .now
                if state.number > 0 { kill(state.number, SIGTERM) }
            }
        }

        func started(_ number: pid_t) {
            state.withLock { state in
                state.number = number
                if state.end != nil { kill(number, SIGTERM) }
            }
        }

        /// Returns the status of the process as of `waitpid`; nil if it has not ended.
        func status() -> Int32? {
            state.withLock { state in
                var status: Int32 = 0
                // Until this, the number belongs to no other process that a signal could hit.
                if unsafe waitpid(state.number, &status, WNOHANG) == state.number {
                    state.number = 0
                    return status
                }
                if let end = state.end, .now - end > .seconds(2) { kill(state.number, SIGKILL) }
                return nil
            }
        }
    }

    /// Makes a program.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - option: The option that names it.
    ///   - environment: Replaces or completes the environment of this process.
    ///   - input: What it reads.
    init(_ words: [String], option: String, environment: [Variable: String], input: String = "") {
        (self.words, self.option, self.environment, self.input) = (words, option, environment, Array(input.utf8))
    }

    /// Runs the program; its messages go to standard error.
    ///
    /// - Parameter toErrors: Whether what it prints goes there as well.
    /// - Returns: What it prints.
    /// - Throws: ``CommandFailure`` if it cannot be started, fails or prints too much, `CancellationError`.
    func output(toErrors: Bool = false) async throws -> String {
        let (child, process) = (child, self)
        do {
            return try await withCancellation {
                try await Blocking.run { try process.run(toErrors) }
            } onCancel: {
                child.end()
            }
        } catch {
            // A program that was ended has not failed.
            try Task.checkCancellation()
            throw error
        }
    }

    private func run(_ toErrors: Bool) throws -> String {
        var (output, input): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        defer { for end in output + input where end >= 0 { close(end) } }
        do {
            try SystemError.check("pipe", words[0]) { unsafe resume_files_pipe(&output) }
            try SystemError.check("pipe", words[0]) { unsafe resume_files_pipe(&input) }
            try start(reading: input[0], writingTo: toErrors ? STDERR_FILENO : output[1])
        } catch let error as SystemError {
            throw CommandFailure(.refused, "\(option) cannot be run: \(error.description)", isResumable: true)
        }
        // A write fails when the process has closed its end of the pipe; this process must not keep that open.
        for end in [input[0], output[1]] { close(end) }
        (input[0], output[1]) = (-1, -1)
        _ = fcntl(input[1], F_SETFL, O_NONBLOCK)
        let (bytes, status) = converse(writingTo: &input[1], readingFrom: &output[0])
        guard bytes.count <= Self.longest else {
            throw CommandFailure(
                .refused, "\(option) printed more than \(Self.longest) bytes", isResumable: true)
        }
        guard status == 0 else {
            let how = status & 0x7F == 0 ? "exit status \((status >> 8) & 0xFF)" : "signal \(status & 0x7F)"
            throw CommandFailure(.refused, "\(option) failed with \(how)", isResumable: true)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func start(reading input: Int32, writingTo output: Int32) throws {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        // This program blocks the signals that it handles, and ignores SIGPIPE; the other one must not inherit that.
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var (none, ignored) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigemptyset(&ignored)
        for number in [SIGPIPE, SIGINT, SIGTERM] { unsafe sigaddset(&ignored, number) }
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &ignored)
        // Libraries open sockets that a program could inherit, and keep a server's connection open with.
        let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        let failure = unsafe resume_files_spawn_flags(&actions, &attributes, flags)
        guard failure == 0 else { throw SystemError(number: failure, call: "run", path: words[0]) }
        let inherited = Self.inheritedEnvironment().filter { line in
            !environment.keys.contains { line.hasPrefix("\($0.rawValue)=") }
        }
        let variables = inherited + environment.map { "\($0.rawValue)=\($1)" }
        let arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        let values = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + values).forEach { unsafe free($0) } }
        var number: pid_t = 0
        let result = unsafe posix_spawnp(&number, words[0], &actions, &attributes, arguments, values)
        guard result == 0 else { throw SystemError(number: result, call: "run", path: words[0]) }
        child.started(number)
    }

    private static func inheritedEnvironment() -> [String] {
        var (lines, index): ([String], Int) = ([], 0)
        while let line = unsafe environ[index] {
            lines.append(unsafe String(cString: line))
            index += 1
        }
        return lines
    }

    /// Exchanges bytes with the process until it has ended.
    ///
    /// - Parameters:
    ///   - input: The end of the pipe that it reads from; closed when all is written.
    ///   - output: The end of the pipe that it writes to; closed at the end of the output, or when it is too long.
    /// - Returns: What it has written, and its status as of `waitpid`.
    private func converse(writingTo input: inout Int32, readingFrom output: inout Int32) -> ([UInt8], Int32) {
        var (bytes, unsent) = ([UInt8](), self.input[...])
        var buffer = [UInt8](repeating: 0, count: 4096)
        var pause: Int32 = 1
        while true {
            if unsent.isEmpty { Self.shut(&input) }
            // Processes that it has started may keep the pipe open.
            if output < 0 || child.isEnding, let status = child.status() { return (bytes, status) }
            var ends = [
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: input, events: Int16(POLLOUT), revents: 0),
            ]
            // Without an end of a pipe, this is a pause.
            _ = unsafe poll(&ends, 2, output < 0 ? pause : 100)
            pause = min(pause * 2, 100)
            if ends[1].revents != 0 {
                let count = unsafe unsent.withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
                if count >= 0 { unsent = unsent.dropFirst(count) } else if errno == EPIPE { unsent = [] }
            }
            if ends[0].revents != 0 {
                let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(output, $0.baseAddress, $0.count) }
                if count > 0 { bytes += buffer[..<count] }
                if bytes.count > Self.longest { child.end() }
                if count == 0 || bytes.count > Self.longest { Self.shut(&output) }
            }
        }
    }

    private static func shut(_ end: inout Int32) {
        if end >= 0 { close(end) }
        end = -1
    }
}
