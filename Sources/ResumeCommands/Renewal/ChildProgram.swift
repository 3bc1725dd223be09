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

    /// The running process, which a cancellation ends.
    private final class Child: Sendable {
        private struct State {
            /// 0 if there is none.
            var number: pid_t = 0
            var isCancelled = false
        }

        private let state = Mutex(State())

        /// Ends the process, also if it starts only now.
        func end() {
            state.withLock { state in
                state.isCancelled = true
                if state.number > 0 { kill(state.number, SIGTERM) }
            }
        }

        func started(_ number: pid_t) {
            state.withLock { state in
                state.number = number
                if state.isCancelled { kill(number, SIGTERM) }
            }
        }

        /// Waits for the process; returns its status as of `waitpid`.
        func status() -> Int32 {
            let number = state.withLock { $0.number }
            var information = unsafe siginfo_t()
            while unsafe waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
            // Until this, the number belongs to no other process that a cancellation could hit.
            return state.withLock { state in
                var status: Int32 = 0
                while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
                state.number = 0
                return status
            }
        }
    }

    /// Makes a program.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - option: The option that names it.
    ///   - environment: Replaces or completes the environment of this process.
    ///   - input: What it reads; less than a pipe holds.
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
            try SystemError.check("pipe", words[0]) { unsafe pipe(&output) }
            try SystemError.check("pipe", words[0]) { unsafe pipe(&input) }
            for end in output + input { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            try start(reading: input[0], writingTo: toErrors ? STDERR_FILENO : output[1])
        } catch let error as SystemError {
            throw CommandFailure(.refused, "\(option) cannot be run: \(error.description)", isResumable: true)
        }
        // A program that ends without reading closes its end.
        _ = unsafe write(input[1], self.input, self.input.count)
        for end in input + [output[1]] { close(end) }
        (input, output[1]) = ([], -1)
        let bytes = self.output(from: output[0])
        // A program that prints more must not wait for a reader.
        close(output[0])
        output[0] = -1
        let status = child.status()
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
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
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

    private func output(from end: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= Self.longest {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(end, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
