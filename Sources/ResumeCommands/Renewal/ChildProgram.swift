import ResumeFiles

/// A child process whose output is read to its end.
struct ChildProgram {
    /// The maximum number of bytes that are read.
    private static let longest = 65_536

    /// The program and its arguments.
    let words: [String]
    /// The option that names it, for messages.
    let option: String
    /// Replaces or completes the environment of this process: the program learns what it is needed for.
    let environment: [String: String]
    /// What it reads.
    var input = ""

    /// Runs the program; its messages go to standard error.
    ///
    /// - Parameter toErrors: Whether what it prints goes there as well.
    /// - Returns: What it prints.
    /// - Throws: ``CommandFailure`` if it cannot be started, fails or prints too much, `CancellationError`.
    func output(toErrors: Bool = false) async throws -> String {
        do {
            return try await Blocking.run(cancellable: { try run(toErrors, until: $0) })
        } catch {
            // A program that was ended has not failed.
            try Task.checkCancellation()
            throw error
        }
    }

    private func failure(_ text: String) -> CommandFailure {
        CommandFailure(.refused, "\(option) \(text)", isResumable: true)
    }

    private func run(_ toErrors: Bool, until cancelled: CancellationFlag) throws -> String {
        var output: [Int32] = [-1, -1]
        var input: [Int32] = [-1, -1]
        defer { for end in output + input where end >= 0 { close(end) } }
        let process: pid_t
        do {
            try SystemError.check("pipe", words[0]) { unsafe resume_files_pipe(&output) }
            try SystemError.check("pipe", words[0]) { unsafe resume_files_pipe(&input) }
            process = try start(reading: input[0], writingTo: toErrors ? STDERR_FILENO : output[1])
        } catch let error as SystemError {
            throw failure("cannot be run: \(error.description)")
        }
        // A write fails when the process has closed its end of the pipe; this process must not keep that open.
        for end in [input[0], output[1]] { close(end) }
        // It need not read its input: then this thread is left behind until it ends.
        Blocking.begin { [text = self.input, end = input[1]] in
            _ = CommandContext.put(text.utf8, to: end)
            close(end)
        }
        input = []
        output[1] = -1
        let (bytes, status) = bytes(from: &output[0], of: process, until: cancelled)
        guard bytes.count <= Self.longest else { throw failure("printed more than \(Self.longest) bytes") }
        guard status == 0 else {
            let how = status & 0x7F == 0 ? "exit status \(status >> 8 & 0xFF)" : "signal \(status & 0x7F)"
            throw failure("failed with \(how)")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func start(reading input: Int32, writingTo output: Int32) throws -> pid_t {
        let variables = [String: String].ofProcess.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let arguments = unsafe words.map { unsafe strdup($0.systemPath) } + [nil]
        let values = unsafe variables.map { unsafe strdup($0.systemPath) } + [nil]
        defer { unsafe (arguments + values).forEach { unsafe free($0) } }
        var number: pid_t = 0
        let result = unsafe resume_files_spawn(&number, arguments, values, input, output)
        guard result == 0 else { throw SystemError(number: result, call: "run", path: words[0]) }
        return number
    }

    /// Reads what the process writes until it has ended; it is told to end if the command is cancelled or the output is
    /// too long, and ended two seconds later.
    ///
    /// - Parameters:
    ///   - output: The end of the pipe that it writes to; closed at the end of the output, or when it is too long.
    ///   - process: The process.
    ///   - cancelled: Whether the command is cancelled.
    /// - Returns: What it has written, and its status as of `waitpid`.
    private func bytes(
        from output: inout Int32, of process: pid_t, until cancelled: CancellationFlag
    ) -> ([UInt8], Int32) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        var pause: Int32 = 1
        var status: Int32 = 0
        var end: ContinuousClock.Instant?
        while true {
            if end == nil, cancelled.value || bytes.count > Self.longest {
                end = .now
                kill(process, SIGTERM)
            }
            if let end, .now - end > .seconds(2) { kill(process, SIGKILL) }
            // Processes that it has started may keep the pipe open.
            if output < 0 || end != nil, unsafe waitpid(process, &status, WNOHANG) == process {
                return (bytes, status)
            }
            var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            // Without an end of a pipe, this is a pause.
            let isReady = unsafe poll(&ready, 1, output < 0 ? pause : 100) > 0
            pause = min(pause * 2, 100)
            guard isReady else { continue }
            let count = unsafe read(output, &buffer, buffer.count)
            if count > 0 { bytes += buffer[..<count] }
            guard count == 0 || bytes.count > Self.longest else { continue }
            close(output)
            output = -1
        }
    }
}
