import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// The output and the state of each command when a call of the store fails, and recovery in the next run.
@Suite(.enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .timeLimit(.minutes(10)))
struct StoreFaultTests {
    /// A command whose system calls fail.
    struct Fault: Sendable, CustomTestStringConvertible {
        /// The command without its options.
        ///
        /// `get` gets the URL and an output, and `URL` stands for the URL.
        var command: [String]
        /// The number of bytes stored before.
        var held: Int64 = 0
        /// Whether and how the database is damaged before.
        var isDamaged = false
        var rules: String
        var status: Int32
        /// A part of its output.
        var says = ""

        var testDescription: String { "\(command.joined(separator: " ")) \(rules)" }
    }

    private static let file = Resource(Content(length: 1_500_000, seed: 1), etag: "\"v1\"")
    private static let small = Resource(Content(length: 400_000, seed: 2), etag: "\"v1\"")
    /// A copy through memory in place of a link.
    private static let copies = "link:error=EXDEV;ficlone:error=ENOTSUP;copy_file_range:error=EXDEV"

    private static let openingFaults = [
        Fault(command: ["get"], rules: "open@store.sqlite:error=ENOSPC:1", status: 74, says: "No space left"),
        Fault(command: ["get"], rules: "open@store.sqlite:error=EEXIST:1", status: 74, says: "unable to open"),
        Fault(command: ["get"], rules: "stat@store.sqlite:error=EIO:1", status: 74, says: "stat failed"),
        Fault(command: ["get"], rules: "open@/reserve:error=EMFILE", status: 0),
        Fault(command: ["get"], rules: "pwrite@/reserve:error=ENOSPC:3", status: 0),
        Fault(command: ["get"], rules: "flock@/store/lock:error=EIO", status: 74, says: "flock failed"),
        Fault(command: ["get"], rules: "flock@/store/lock:error=EAGAIN", status: 75, says: "the store's lock"),
        Fault(command: ["get"], rules: "ofdlock@/leases:error=ENOLCK", status: 74, says: "lock failed"),
        Fault(
            command: ["list"], held: 100, rules: "ofdlock@/waiters:error=EAGAIN:1", status: 75, says: "being rebuilt"),
        Fault(
            command: ["list"], held: 100, rules: "pwrite@store.sqlite-shm:error=ENOSPC;fstatvfs:full", status: 74,
            says: "cannot create its write-ahead log"),
        Fault(command: ["list"], held: 100, rules: "pwrite@store.sqlite-shm:error=ENOSPC:1;fstatvfs:full", status: 0),
        Fault(command: ["list"], held: 100, rules: "pwrite@store.sqlite-shm:error=ENOSPC", status: 74, says: "failed"),
        // An entry is shown even if it is unknown whether it is in use.
        Fault(command: ["list"], held: 100, rules: "ofdlock@/leases:error=EIO", status: 0, says: "/file"),
        Fault(command: ["show", "URL"], held: 100, rules: "ofdlock@/leases:error=EIO", status: 0, says: "/file"),
    ]

    private static let downloadingFaults = [
        Fault(command: ["get"], rules: "open@/blobs/:error=EMFILE:2", status: 74, says: "Too many open files"),
        Fault(command: ["get"], rules: "fsync@/blobs:error=EIO", status: 74, says: "fsync failed"),
        Fault(command: ["get"], rules: "fstatvfs@/blobs:error=EIO", status: 74, says: "statvfs failed"),
        Fault(command: ["get"], rules: "fstatvfs@/blobs:full", status: 74, says: "only 0 bytes are free"),
        Fault(command: ["get"], rules: "fdatasync@/blobs/:error=EIO:1", status: 74, says: "fdatasync failed"),
        Fault(command: ["get"], held: 1_000_000, rules: "pread@/blobs/:error=EIO", status: 74, says: "read failed"),
        Fault(command: ["get"], held: 1_000_000, rules: "open@/blobs/:error=EIO:1", status: 74, says: "open failed"),
        Fault(command: ["get"], held: 1_000_000, rules: "open@/leases:error=EMFILE", status: 74, says: "open failed"),
        // No boot ID: synced data is trusted.
        Fault(command: ["get"], held: 1_000_000, rules: "boot", status: 0, says: "500000"),
        Fault(command: ["get"], held: 1_000_000, rules: "short boot", status: 0, says: "500000"),
    ]

    private static let deliveringFaults = [
        Fault(command: ["get"], rules: "open@/out/.:error=ENOTSUP:2", status: 0),
        Fault(command: ["get"], rules: "open@/out/.:error=EACCES:2", status: 73, says: "Permission denied"),
        Fault(command: ["get"], rules: "link:error=EIO", status: 73, says: "link failed"),
        Fault(command: ["get"], rules: "stat@/blobs/:error=EIO:2", status: 74, says: "fstat failed"),
        Fault(command: ["get"], rules: "stat@.resumectl:error=EIO:1", status: 73, says: "stat failed"),
        Fault(command: ["get"], rules: copies, status: 0),
        Fault(
            command: ["get"], rules: copies + ";pwrite@.resumectl:error=ENOSPC", status: 74,
            says: ".resumectl: No space left on device"),
        Fault(command: ["get"], rules: copies + ";pread@/blobs/:succeed", status: 73, says: "read failed"),
        // It is unknown whether another process waits: a copy is delivered, and the entry stays.
        Fault(command: ["get"], rules: "ofdlock@/waiters:error=EIO:2+", status: 0),
        Fault(command: ["get"], rules: "open@/proc/self/status:error=ENOENT", status: 0),
    ]

    private static let maintainingFaults = [
        Fault(command: ["verify"], held: 1_000_000, rules: "open@/blobs/:error=EIO:1", status: 74, says: "open failed"),
        Fault(command: ["verify"], held: 1_000_000, rules: "pread@/blobs/:error=EIO", status: 74, says: "read failed"),
        Fault(
            command: ["gc", "--max-size", "0"], held: 1_000_000, rules: "pwrite@store.sqlite-wal:error=ENOSPC",
            status: 74, says: "full"),
        Fault(
            command: ["gc", "--max-size", "0"], held: 1_000_000, rules: "pwrite@store.sqlite-wal:error=ENOSPC:1",
            status: 0),
        Fault(command: ["gc"], held: 1_000_000, rules: "flock@/blobs:error=EIO", status: 74),
        Fault(command: ["gc"], held: 100, rules: "flock@/store/lock:error=EIO:1", status: 74, says: "flock failed"),
        Fault(
            command: ["gc", "--max-size", "0"], held: 1_000_000, rules: "unlink@/blobs/:error=EIO", status: 74,
            says: "unlink failed"),
        Fault(
            command: ["purge", "--all"], held: 1_000_000, rules: "ofdlock@/leases:error=EACCES", status: 1,
            says: "in use"),
        Fault(command: ["doctor"], held: 100, rules: "ofdlock@/leases:succeed", status: 65, says: "do not work"),
        Fault(command: ["doctor"], held: 100, rules: "ofdlock@/leases:error=ENOLCK", status: 65, says: "lock failed"),
        Fault(command: ["doctor"], held: 100, rules: "fstatvfs@/blobs:full", status: 65, says: "almost full"),
        Fault(
            command: ["doctor"], held: 100, rules: "stat@/store:error=EIO", status: 65,
            says: "/store: Input/output error\n"),
        Fault(
            command: ["doctor", "--rebuild"], held: 1_000_000, isDamaged: true, rules: "fstatvfs@/store:full",
            status: 74, says: "not enough space"),
        Fault(
            command: ["doctor", "--rebuild"], held: 1_000_000, isDamaged: true,
            rules: "open@rebuilt.sqlite:error=EIO:1",
            status: 74, says: "open failed"),
        Fault(
            command: ["doctor", "--rebuild"], held: 1_000_000, isDamaged: true, rules: "link@/aside-:error=EPERM",
            status: 74, says: "link failed"),
    ]

    @Test("A call fails when a store is opened", arguments: openingFaults)
    func opening(_ fault: Fault) async throws { try await Self.check(fault) }

    @Test("A call fails while bytes are received", arguments: downloadingFaults)
    func downloading(_ fault: Fault) async throws { try await Self.check(fault) }

    @Test("A call fails when a file is delivered", arguments: deliveringFaults)
    func delivering(_ fault: Fault) async throws { try await Self.check(fault) }

    @Test("A call fails in a maintenance command", arguments: maintainingFaults)
    func maintaining(_ fault: Fault) async throws { try await Self.check(fault) }

    /// A folder, an origin, and the program between them.
    private struct Bench {
        let folder: TemporaryFolder
        let server: OriginServer
        var output: String { folder["out/file"] }

        func run(
            _ command: [String], rules: String = "", name: String = "file", bootID: String? = nil
        ) async throws -> Shell.Outcome {
            let shim = try await FaultShim.environment(
                roots: [folder.path, "/proc/self/status"], rules: rules, bootID: bootID)
            let get = ["--json", "--retries", "0", "--output", output, "\(server.baseURL)/\(name)"]
            return try await Shell.outcome(
                Resumectl.path,
                command.map { $0 == "URL" ? "\(server.baseURL)/file" : $0 } + (command[0] == "get" ? get : []),
                environment: Resumectl(folder: folder).environment.merging(shim) { $1 })
        }

        @discardableResult
        static func with<Value>(
            _ file: Resource, cutAfter held: Int64, in parent: String? = nil, _ body: (Bench) async throws -> Value
        ) async throws -> Value {
            let folder = try TemporaryFolder(in: parent)
            defer { folder.remove() }
            try await Shell.run("mkdir", folder["out"])
            return try await OriginServer.withServer(handler: {
                let isCut = held > 0 && $0.number == 1
                return .file($0.path == "/small" ? small : file, for: $0, cutAfter: isCut ? held : nil)
            }) { server in
                let bench = Bench(folder: folder, server: server)
                if held > 0 { #expect(try await bench.run(["get"]).status == 75) }
                return try await body(bench)
            }
        }

        /// The next run delivers the file, and nothing is wrong or left over afterwards.
        func expectRecovery(of file: Resource) async throws {
            let again = try await run(["get"])
            #expect(again.status == 0, "\(again.errors)")
            #expect(try Files.matches(output, file.bytes))
            #expect(try Files.names(in: folder["out"]) == ["file"])
            #expect(try await run(["gc"]).status == 0)
            let verified = try await run(["verify"])
            #expect(verified.status == 0, "\(verified.errors)\(verified.output)")
            #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
            #expect(Files.exists(folder["store/reserve"]))
        }
    }

    private static func check(_ fault: Fault) async throws {
        try await Bench.with(file, cutAfter: fault.held) { bench in
            let database = bench.folder["store/store.sqlite"]
            if fault.isDamaged {
                var bytes = try Files.bytes(database)
                bytes.replaceSubrange(0..<16, with: Array(repeating: 0, count: 16))
                try Files.write(bytes, to: database)
            }
            let bootID = fault.rules.hasSuffix("boot") ? bench.folder["boot"] : nil
            if fault.rules == "short boot" { try Files.write([1], to: bench.folder["boot"]) }
            let outcome = try await bench.run(fault.command, rules: bootID == nil ? fault.rules : "", bootID: bootID)
            #expect(outcome.status == fault.status, "\(outcome.errors)\(outcome.output)")
            let text = outcome.output + outcome.errors
            #expect(fault.says.isEmpty || text.contains(fault.says), "\(text)")
            if fault.command[0] == "get" {
                // Complete under its name, or absent, with nothing beside it.
                #expect(try Files.names(in: bench.folder["out"]) == (fault.status == 0 ? ["file"] : []))
            }
            if fault.rules.contains("/reserve") { #expect(!Files.exists(bench.folder["store/reserve"])) }
            if fault.rules.contains("/proc/self/status") { #expect(try Files.mode(bench.output) == 0o600) }
            if fault.rules.hasPrefix("ofdlock@/waiters:error=EIO") {
                #expect(try await bench.run(["list"]).output.contains("complete"))
            }
            if fault.isDamaged {
                #expect(try Files.names(in: bench.folder["store"]).allSatisfy { !$0.hasPrefix("salvage") })
                #expect(try await bench.run(["list"]).status == 65)
                #expect(try await bench.run(["doctor", "--rebuild"]).status == 0)
            }
            try await bench.expectRecovery(of: file)
        }
    }

    @Test("A read error at the start of the partial data ends the download; nothing is lost")
    func unreadableBeginning() async throws {
        let file = Resource(Content(length: 17_000_000, seed: 1), etag: "\"v1\"")
        try await Bench.with(file, cutAfter: 16_000_000) { bench in
            // The first reads are those of the last bytes, on resume.
            try Files.write(file.bytes, to: bench.folder["whole"])
            let digest = try await Shell.run("sha256sum", bench.folder["whole"]).prefix(64)
            for (command, number) in [(["get"], 40), (["get", "--sha256", String(digest)], 60)] {
                let failed = try await bench.run(command, rules: "pread@/blobs/:error=EIO:\(number)+")
                #expect(failed.status == 74 && failed.errors.contains("read failed"), "\(failed.errors)")
                #expect(try Files.names(in: bench.folder["out"]).isEmpty)
            }
            try await bench.expectRecovery(of: file)
        }
    }

    @Test(
        "A failed sync in the background ends the download; unsynced bytes are fetched again")
    func failedSync() async throws {
        let file = Resource(Content(length: 60_000_000, seed: 1), etag: "\"v1\"")
        try await Bench.with(file, cutAfter: 0) { bench in
            let failed = try await bench.run(["get"], rules: "fdatasync@/blobs/:error=EIO:1")
            #expect(failed.status == 74 && failed.errors.contains("fdatasync failed"), "\(failed.errors)")
            // The kernel may have dropped them, and reports that once.
            #expect(!(try await bench.run(["list", "--json"]).output.contains("\"receivedBytes\":6")))
            try await bench.expectRecovery(of: file)
        }
    }

    @Test("A failed sync of a small file, which has no row, leaves no row that names its bytes")
    func unsyncedBrief() async throws {
        try await Bench.with(Self.small, cutAfter: 0) { bench in
            let failed = try await bench.run(["get"], rules: "fdatasync@/blobs/:error=EIO:1")
            #expect(failed.status == 74 && failed.errors.contains("fdatasync failed"), "\(failed.errors)")
            #expect(try await bench.run(["list", "--json"]).output.isEmpty)
            try await bench.expectRecovery(of: Self.small)
        }
    }

    @Test(
        "A small file that cannot be moved over another one is delivered alone",
        arguments: ["rename@/out/file:error=EXDEV:1", "link@/blobs/:error=EMLINK:1"])
    func unmovedBrief(rules: String) async throws {
        var errors = ""
        // On a busy machine, a file may take more than 250 ms. Then it is delivered alone from the beginning, and the
        // fault, which no file system has there, fails that.
        for _ in 0..<5 {
            errors = try await Bench.with(Self.small, cutAfter: 0) { bench in
                try Files.write([1, 2, 3], to: bench.output)
                let run = try await bench.run(["get"], rules: rules, name: "small")
                guard run.status == 0 else { return run.errors }
                #expect(try Files.matches(bench.output, Self.small.bytes))
                #expect(try Files.names(in: bench.folder["out"]) == ["file"])
                #expect(try Files.names(in: bench.folder["store/blobs"]).isEmpty)
                return ""
            }
            if errors.isEmpty { return }
        }
        Issue.record("\(errors)")
    }

    @Test("If a failed sync cannot be recorded either, the data file is removed, or its row is not trusted")
    func failedSyncUnrecorded() async throws {
        try await Bench.with(Self.file, cutAfter: 0) { bench in
            let gate = bench.folder["gate"]
            async let run = bench.run(["get"], rules: "fdatasync@/blobs/:hold=\(gate):1;fdatasync@/blobs/:error=EIO:1")
            try await wait(for: "the sync before the delivery") { Files.exists(gate + ".reached") }
            let lock = open(bench.folder["store/lock"], O_RDWR)
            #expect(flock(lock, LOCK_EX) == 0)
            try Files.write([], to: gate)
            let failed = try await run
            close(lock)
            // On a slow machine this is a sync before the last byte, and a parallel commit may wait for the lock first.
            let waited = failed.errors.contains("held the store's lock")
            #expect(waited || failed.status == 74 && failed.errors.contains("fdatasync failed"), "\(failed.errors)")
            if try !Files.names(in: bench.folder["store/blobs"]).isEmpty {
                let list = try await bench.run(["list", "--json"]).output
                #expect(waited && list.contains("\"receivedBytes\":0"), "\(list)")
            }
            try await bench.expectRecovery(of: Self.file)
        }
    }

    @Test(
        "If a file system can share blocks, a copy does, and is truncated to the recorded length",
        .enabled(if: Shell.isRoot && Shell.has("mkfs.xfs") && Shell.has("mount"), "needs root and XFS"))
    func sharedBlocks() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("truncate", "-s", "320M", folder["image"])
            try await Shell.run("mkfs.xfs", "-q", folder["image"])
            try await folder.withDisk("-o loop '\(folder["image"])'") {
                try await Bench.with(Self.file, cutAfter: 1_000_000, in: folder["disk"]) { bench in
                    let blob = try #require(try Files.names(in: bench.folder["store/blobs"]).first)
                    try await Shell.run("truncate", "-s", "3M", bench.folder["store/blobs/\(blob)"])
                    // Any other copy fails.
                    let delivered = try await bench.run(
                        ["get"], rules: "copy_file_range,pwrite@.resumectl:error=EIO")
                    #expect(delivered.status == 0, "\(delivered.errors)")
                    #expect(try Files.matches(bench.output, Self.file.bytes))
                    try await bench.expectRecovery(of: Self.file)
                }
            }
        }
    }

    @Test("A relative path in a working directory that was removed is refused before anything is fetched")
    func removedFolder() async throws {
        try await Bench.with(Self.file, cutAfter: 0) { bench in
            let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$@\""
            let outcome = try await Shell.outcome(
                "sh",
                ["-c", "cd '\(bench.folder.path)' && \(script)", "sh", Resumectl.path]
                    + ["get", "--output", "file", "\(bench.server.baseURL)/file"],
                environment: Resumectl(folder: bench.folder).environment)
            #expect(outcome.status == 73, "\(outcome.errors)")
            #expect(outcome.errors.contains("the working folder no longer exists. Use an absolute path"))
            #expect(bench.server.requests.isEmpty)
        }
    }

    @Test("A FIFO created with the destination's name during the copy is not replaced, and the download stays")
    func pipeDuringCopy() async throws {
        try await Bench.with(Self.file, cutAfter: 0) { bench in
            let gate = bench.folder["gate"]
            async let run = bench.run(["get"], rules: Self.copies + ";pwrite@.resumectl:hold=\(gate):1")
            try await wait(for: "the copy") { Files.exists(gate + ".reached") }
            try await Shell.run("mkfifo", bench.output)
            try Files.write([], to: gate)
            let refused = try await run
            #expect(refused.status == 73, "\(refused.errors)")
            let text = "cannot write \(bench.output): it is not a regular file"
            #expect(refused.errors.contains(text), "\(refused.errors)")
            #expect(try Files.names(in: bench.folder["out"]) == ["file"])
            #expect(try await Shell.outcome("test", ["-p", bench.output]).status == 0)
            try await Shell.run("rm", bench.output)
            #expect(try await bench.run(["list"]).output.contains("complete"))
            try await bench.expectRecovery(of: Self.file)
        }
    }

    @Test("A file that another copy of this store begins under the same name is neither delivered nor removed")
    func stagedTwice() async throws {
        try await Bench.with(Self.file, cutAfter: 0) { bench in
            let gate = bench.folder["gate"]
            async let run = bench.run(["get"], rules: Self.copies + ";pwrite@.resumectl:hold=\(gate):1")
            try await wait(for: "the copy") { Files.exists(gate + ".reached") }
            let staging = try #require(try Files.names(in: bench.folder["out"]).first)
            let path = bench.folder["out/\(staging)"]
            try await Shell.run("rm", path)
            try Files.write([1, 2, 3], to: path)
            try Files.write([], to: gate)
            let refused = try await run
            #expect(refused.status == 73 && refused.errors.contains("busy"), "\(refused.errors)")
            #expect(try Files.names(in: bench.folder["out"]) == [staging])
            #expect(try Files.bytes(path) == [1, 2, 3])
            #expect(try await bench.run(["list"]).output.contains("complete"))
            try await bench.expectRecovery(of: Self.file)
        }
    }

    @Test("A folder replaced while the store is opened is refused, and nothing is created in the new one")
    func exchangedFolder() async throws {
        try await Bench.with(Self.file, cutAfter: 1_000_000) { bench in
            let folder = bench.folder
            try await Shell.run("mkdir", folder["real"], folder["other"])
            try await Shell.run("mv", folder["store"], folder["real/store"])
            try await Shell.run("cp", "-a", folder["real/store"], folder["other/store"])
            try await Shell.run("ln", "-s", "real", folder["link"])
            let look = ["-c", "cd \"$0\" && ls -laR --time-style=full-iso"]
            let before = try await Shell.outcome("sh", look + [folder["other/store"]]).output
            let gate = folder["gate"]
            let shim = try await FaultShim.environment(
                roots: [folder.path], rules: "open@/store/blobs:hold=\(gate):1")
            let environment = ["RESUMECTL_STORE": folder["link/store"]].merging(shim) { $1 }
            async let run = Shell.outcome(Resumectl.path, ["gc"], environment: environment)
            try await wait(for: "the opening") { Files.exists(gate + ".reached") }
            // Links are followed once, so only another folder in the place where the link led is noticed.
            try await Shell.run("ln", "-sfn", "nowhere", folder["link"])
            try await Shell.run("mv", folder["real"], folder["moved"])
            try await Shell.run("mv", folder["other"], folder["real"])
            try Files.write([], to: gate)
            let refused = try await run
            #expect(refused.status == 65 && refused.errors.contains("was replaced"), "\(refused.errors)")
            #expect(try await Shell.outcome("sh", look + [folder["real/store"]]).output == before)
            try await Shell.run("mv", folder["moved/store"], folder["store"])
            try await bench.expectRecovery(of: Self.file)
        }
    }

    @Test("Blocks that a file system releases a moment after the removal are waited for")
    func lateSpace() async throws {
        try await Bench.with(Self.file, cutAfter: 1_000_000) { bench in
            // It fits when what is stale is removed.
            try await Shell.run(
                "sqlite3", bench.folder["store/store.sqlite"],
                "UPDATE download SET used_at = used_at - 8 * 86400000; PRAGMA wal_checkpoint(TRUNCATE)")
            let rules = (1...3).map { "fstatvfs@/blobs:full:\($0)" }.joined(separator: ";")
            let small = try await bench.run(["get"], rules: rules, name: "small")
            #expect(small.status == 0, "\(small.errors)")
            #expect(try await bench.run(["list"]).output.contains("/file") == false)
        }
    }
}
