internal import Foundation
internal import TestSupport

/// The library in `Tests/CFaultShim` that is preloaded into a program to disturb its calls to the file system.
///
/// Calls on paths under the roots are numbered from 1. `FAULT_RULES` is a list of `calls[@part]:action[:when]`,
/// separated by semicolons:
///
/// - calls: names separated by commas, such as `pwrite,fdatasync`. `*` is each call that changes something: `open` with
///   `O_CREAT`, `pwrite`, `write`, `fdatasync`, `fsync`, `syncfs`, `ftruncate`, `fallocate`, `rename`, `link`,
///   `unlink`, `mkdir`, `copy_file_range`, `ficlone`, `fchmod`. By name only: `pread`, `flock`, `ofdlock` and
///   `posixlock` (by `fcntl`), `stat` (of a descriptor or a name in a folder), `fstatfs`, `fstatvfs`. A name includes
///   its variants (`openat64` is `open`). `stat` and `fstatvfs` are traced only if a rule names them.
/// - part: text that the path, or the other path of `rename` and `link`, must contain.
/// - action: `kill` (SIGKILL before the call), `killafter`, `error=ENOSPC` and so on, `short` (half of the bytes),
///   `delay=MICROSECONDS` (up to that time), `hold=FILE` (until the file exists; `FILE.reached` shows that a call
///   waits), `succeed` (nothing is done), `network` (`fstatfs` reports NFS), `full` (`fstatvfs` reports no free space),
///   `count`.
/// - when: `7` for the seventh matching call only, `7+` from there on; omitted for all.
///
/// It works on each program that links the C library dynamically, as `resumectl` and SQLite do. Counting starts again
/// in child processes.
package enum FaultShim {
    /// False without a compiler, or if the system is not Linux.
    package static var isAvailable: Bool {
        #if os(Linux)
        Shell.has("clang") || Shell.has("cc")
        #else
        false
        #endif
    }

    private static let built = Task { try await build() }

    /// The library, built beside the running program if it is missing or older than its source.
    ///
    /// - Throws: ``TestSupport/Shell/Failure`` if it cannot be built.
    package static func path() async throws -> String { try await built.value }

    /// The variables for a disturbed program.
    ///
    /// - Parameters:
    ///   - roots: The folders whose files count.
    ///   - rules: The faults, in the notation above; empty to disturb nothing.
    ///   - trace: A file that gets one line per call; ``FileCall`` reads it.
    ///   - count: A file that gets the number of calls that change something, and below it the number for each rule
    ///     with the action `count`. It is written when the program exits, even if a rule kills it.
    ///   - bootID: A file that is read in place of the kernel's boot ID.
    /// - Returns: The variables to add to the others.
    /// - Throws: ``TestSupport/Shell/Failure`` if the library cannot be built.
    package static func environment(
        roots: [String], rules: String = "", trace: String? = nil, count: String? = nil, bootID: String? = nil
    ) async throws -> [String: String] {
        // The kernel reports the real path of a descriptor; programs use the path they were given.
        let real = roots.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
        var variables = ["LD_PRELOAD": try await path(), "FAULT_ROOT": (roots + real).joined(separator: ":")]
        variables["FAULT_RULES"] = rules
        variables["FAULT_TRACE"] = trace
        variables["FAULT_COUNT"] = count
        variables["FAULT_BOOT_ID"] = bootID
        return variables
    }

    /// Writes a file that makes ``environment(roots:rules:trace:count:bootID:)`` simulate a reboot.
    ///
    /// - Throws: An error if it cannot be written.
    package static func writeBootID(to path: String) throws {
        try Files.write(Array((UUID().uuidString.lowercased() + "\n").utf8), to: path)
    }

    /// The numbers in a count file: the calls that change something, then one for each rule that counts.
    ///
    /// - Throws: An error if it cannot be read.
    package static func counts(in path: String) throws -> [Int] {
        String(decoding: try Files.bytes(path), as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
    }

    private static func build() async throws -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("CFaultShim/FaultShim.c").path
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let library = program.deletingLastPathComponent().appendingPathComponent("FaultShim.so").path
        if let made = modified(library), let changed = modified(source), made > changed { return library }
        // Under another name first: a second program may be building it too, or have the old one loaded.
        let fresh = library + UUID().uuidString
        try await Shell.run(
            Shell.has("clang") ? "clang" : "cc", "-shared", "-fPIC", "-O1", "-o", fresh, source, "-ldl", "-pthread")
        guard rename(fresh, library) == 0 else { throw Shell.Failure(description: "\(library) cannot be made") }
        return library
    }

    private static func modified(_ path: String) -> Date? {
        try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
}
