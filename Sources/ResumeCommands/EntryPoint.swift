#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif
import ResumeFiles
import ResumeSQLite
import Synchronization

/// Runs the program; called by `main` in C.
///
/// - Parameters:
///   - count: The number of arguments, including the program's name.
///   - arguments: The arguments as the system passed them.
/// - Returns: The exit status.
@_cdecl("resumectl_main")
package func runProgram(
    _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    openStandardStreams()
    Signals.hold()
    OpenFileLimit.raise()
    SQLiteLibrary.countNoMemory()
    let context = CommandContext.process(environment: .ofProcess)
    let words: [String]
    do {
        try requireProc()
        words = try unsafe texts(count, arguments)
    } catch {
        context.say("resumectl: \(error.message)")
        return error.status.rawValue
    }
    if ResumeCtl.isMaintenance(words) {
        // Downloads of other processes come first. On Linux, the priority belongs to the thread, and those that start
        // later inherit it.
        _ = nice(10)
    }
    let status = Mutex(ExitStatus.io)
    let end = DispatchSemaphore(value: 0)
    // Detached, since the main thread waits below; nothing else needs it.
    Task.detached {
        let result = await Signals.cancelling { await ResumeCtl.run(words, in: context) }
        status.withLock { $0 = result }
        end.signal()
    }
    end.wait()
    return status.withLock(\.rawValue)
}

/// Opens standard streams that are closed, so that no file of the store gets their numbers, and then messages.
private func openStandardStreams() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
        // Reading standard input and writing to the others are errors, as with closed ones.
        _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
}

/// Throws if `/proc` is missing.
///
/// libdispatch on Linux reads the state of its threads from `/proc` every second, and traps if it is missing.
private func requireProc() throws(CommandFailure) {
    #if os(Linux)
    guard unsafe access("/proc/self/stat", R_OK) == 0 else {
        throw CommandFailure(.io, "/proc is not mounted, and the runtime of this program needs it")
    }
    #endif
}

/// The options whose values are paths, which may be any bytes.
private let pathOptions = ["--store", "--output", "-o", "--directory", "-P"]

/// Returns the arguments of the command line without the program's name.
///
/// - Throws: ``CommandFailure`` for other arguments that are not valid UTF-8, which would denote a different URL.
private func texts(
    _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) throws(CommandFailure) -> [String] {
    var texts: [String] = []
    for number in 1..<max(Int(count), 1) {
        guard let argument = unsafe arguments?[number] else { break }
        let path = unsafe String(systemPath: argument)
        let isPath = pathOptions.contains { option in
            texts.last == option || path.hasPrefix("\(option)=")
        }
        guard let text = unsafe isPath ? path : String(validatingCString: argument) else {
            throw CommandFailure(.usage, "\(number == 1 ? "the command" : "argument \(number - 1)") is not valid UTF-8")
        }
        texts.append(text)
    }
    return texts
}
