internal import FaultInjection
internal import Foundation
internal import Glibc
internal import Synchronization
internal import TestSupport

/// The place of one worker: folders on one kind of file system, and the program that runs there.
///
/// The paths are the same for each point, because the store records destinations.
final class Site: Sendable {
    let kind: FileSystemKind
    let folder: TemporaryFolder
    let program: String
    private let main: LoopDisk?
    private let other: LoopDisk?
    private let mainPath: String
    private let otherPath: String
    private let fillerSize = Mutex<Int64?>(nil)

    /// The time limit of a process; none takes a second on an idle machine.
    static let patience: Duration = .seconds(180)

    init(_ kind: FileSystemKind, program: String, in parent: String?) async throws {
        self.kind = kind
        self.program = program
        folder = try TemporaryFolder(in: parent ?? Self.memory)
        if kind == .plain {
            (main, other) = (nil, nil)
            mainPath = folder["main"]
            // In memory or on disk, whichever the first is not.
            otherPath = NSTemporaryDirectory() + "/resume-sweep-\(UUID().uuidString)"
        } else {
            do {
                (main, other) = try await Self.disks(kind, in: folder)
            } catch {
                // An interruption cancels the creation of the disks.
                folder.remove()
                throw error
            }
            mainPath = main?.mountPoint ?? ""
            otherPath = other?.mountPoint ?? ""
        }
        try FileManager.default.createDirectory(atPath: mainPath, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: otherPath, withIntermediateDirectories: true)
        try FaultShim.writeBootID(to: bootID(cut: false))
        try FaultShim.writeBootID(to: bootID(cut: true))
    }

    private static func disks(
        _ kind: FileSystemKind, in folder: TemporaryFolder
    ) async throws -> (main: LoopDisk, other: LoopDisk) {
        let main = try await LoopDisk(kind, name: "main", in: folder.path)
        do {
            return (main, try await LoopDisk(kind, name: "other", in: folder.path))
        } catch {
            main.remove()
            throw error
        }
    }

    private static var memory: String? { FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : nil }

    var store: String { "\(mainPath)/point/store" }
    /// The folder of delivered files.
    func destination(other: Bool) -> String { other ? "\(otherPath)/point" : "\(mainPath)/point/files" }
    /// The ID of this boot, or of the next one.
    func bootID(cut: Bool) -> String { folder[cut ? "boot-after" : "boot"] }
    var trace: String { folder["trace"] }
    var count: String { folder["count"] }
    /// A file that another program has left.
    var foreign: String { folder["foreign"] }
    /// A list of URLs.
    var list: String { folder["list"] }

    /// Whether the two places are on separate file systems.
    var hasOther: Bool {
        var first = stat()
        var second = stat()
        return stat(mainPath, &first) == 0 && stat(otherPath, &second) == 0 && first.st_dev != second.st_dev
    }

    func sync() throws {
        try main?.sync()
        try other?.sync()
    }

    func cut() throws {
        try main?.cut()
        try other?.cut()
    }

    /// Empties the place.
    func clear() async throws {
        try await Shell.run("rm", "-rf", "\(mainPath)/point", "\(otherPath)/point")
        for path in ["\(mainPath)/point/files", "\(otherPath)/point"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    /// Saves the current state as the start of each point.
    func keep() async throws {
        fillerSize.withLock { $0 = nil }
        try await Shell.run("rm", "-rf", "\(mainPath)/kept", "\(otherPath)/kept")
        try await Shell.run("cp", "-a", "--reflink=never", "\(mainPath)/point", "\(mainPath)/kept")
        try await Shell.run("cp", "-a", "\(otherPath)/point", "\(otherPath)/kept")
        try sync()
    }

    /// Restores the saved state.
    func restore() async throws {
        let copy = """
            rm -rf '\(mainPath)/point' '\(otherPath)/point' && cp -a --reflink=never '\(mainPath)/kept' \
            '\(mainPath)/point' && cp -a '\(otherPath)/kept' '\(otherPath)/point'
            """
        try await Shell.run("sh", "-c", copy)
    }

    /// Fills the disk except for the given number of bytes.
    ///
    /// The required amount is measured once for the saved state: XFS delays the release of the blocks of removed files,
    /// including those of the last filler.
    func fill(leaving bytes: Int64) async throws {
        let known = fillerSize.withLock { $0 }
        let size: Int64
        if let known {
            size = known
        } else {
            var space = try freeSpace()
            while true {
                try await Task.sleep(for: .milliseconds(500))
                let now = try freeSpace()
                if now == space { break }
                space = now
            }
            size = space - bytes
            fillerSize.withLock { $0 = size }
        }
        guard size > 0 else { throw SweepFailure("there is too little room at \(mainPath)") }
        for _ in 0..<3000 {
            let outcome = try await Shell.outcome("fallocate", ["-l", "\(size)", "\(mainPath)/filler"])
            if outcome.status == 0 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw SweepFailure("\(mainPath) cannot be filled")
    }

    private func freeSpace() throws -> Int64 {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: mainPath)
        return (attributes[.systemFreeSize] as? NSNumber)?.int64Value ?? 0
    }

    /// Releases the space that ``fill(leaving:)`` took.
    func unfill() { unlink("\(mainPath)/filler") }

    /// Removes delivered files.
    func clearDestination() async throws {
        for path in [destination(other: false), destination(other: true)] {
            for name in try Files.names(in: path) { unlink("\(path)/\(name)") }
        }
    }

    /// Runs the program.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the store.
    ///   - rules: The faults of its calls.
    ///   - isTraced: Whether calls are traced and counted.
    ///   - afterCut: Whether the machine was rebooted.
    /// - Returns: The exit status and the output.
    /// - Throws: ``SweepFailure`` or a system error.
    func run(
        _ arguments: [String], rules: String = "", isTraced: Bool = false, afterCut: Bool = false
    ) async throws -> ProgramRun {
        for path in [trace, count] where isTraced { unlink(path) }
        let roots = [mainPath + "/point", otherPath + "/point"]
        var environment = try await FaultShim.environment(
            roots: roots, rules: rules, trace: isTraced ? trace : nil, count: isTraced ? count : nil,
            bootID: bootID(cut: afterCut))
        environment["RESUMECTL_STORE"] = store
        environment["no_proxy"] = "127.0.0.1"
        return try await ProgramRun(program, arguments, environment: environment, in: folder)
    }

    /// Removes everything, mounts included.
    func remove() {
        main?.remove()
        other?.remove()
        if kind == .plain { try? FileManager.default.removeItem(atPath: otherPath) }
        folder.remove()
    }
}

/// How a run of the program ended.
struct ProgramRun: Sendable {
    enum Ending: Sendable, Equatable {
        case exited(Int32)
        case killed(Int32)
        /// It had to be killed because it did not exit.
        case hung
    }

    var ending: Ending
    var output: String
    var errors: String

    init(_ program: String, _ arguments: [String], environment: [String: String], in folder: TemporaryFolder)
        async throws
    {
        let (out, err) = (folder["out"], folder["err"])
        unlink(out)
        unlink(err)
        let variables = ["PATH": "/usr/bin:/bin", "HOME": folder.path].merging(environment) { $1 }
        let process = try ChildProcess(program, arguments, environment: variables, output: out, errors: err)
        let deadline = ContinuousClock.now + Site.patience
        var hung = false
        while process.isRunning {
            if ContinuousClock.now > deadline || Task.isCancelled {
                hung = true
                process.send(SIGKILL)
            }
            try? await Task.sleep(for: .milliseconds(1))
        }
        switch process.result {
        case .exited(let status): ending = .exited(status)
        case .killed(let signal): ending = hung ? .hung : .killed(signal)
        case nil: ending = .hung
        }
        try Task.checkCancellation()
        output = String(decoding: (try? Files.bytes(out)) ?? [], as: UTF8.self)
        errors = String(decoding: (try? Files.bytes(err)) ?? [], as: UTF8.self)
    }

    var isKilled: Bool { ending == .killed(SIGKILL) }

    /// The objects of the output, one per line.
    var objects: [[String: Any]] {
        output.split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}
