import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import TestSupport
import Testing

/// Findings of a review from an attacker's point of view.
@Suite(.timeLimit(.minutes(5)))
struct HostileTests {
    @Test("A23: a blob longer than its recorded length is delivered at the right length")
    func longBlob() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            try await store.leave(200_000, of: server)
            // The state after a body was followed by junk until the process died, or after a power loss.
            let blob = try folder.blob()
            try await Shell.run("truncate", "-s", "400000", blob)
            #expect(try await server.deliver(store.begin(), to: folder["out"]))
        }
    }

    @Test("The filled file is delivered, even if the blob's name now refers to another file")
    func exchangedBlob() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            let transfer = try await store.begin()
            try await server.fill(transfer)
            let blob = try folder.blob()
            try Files.write(sampleBytes(300_000, seed: 2), to: folder["other"])
            try await Shell.run("mv", folder["other"], blob)
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], server.content))
        }
    }

    @Test(
        "L05: a link, FIFO or folder in place of a blob is neither followed nor waited for",
        arguments: [["ln", "-s", "/etc/passwd"], ["mkfifo"], ["mkdir"], ["ln", "-s", "/dev/zero"]])
    func wrongBlob(command: [String]) async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            try await store.leave(200_000, of: server)
            let path = try folder.blob()
            try FileManager.default.removeItem(atPath: path)
            let made = try await Shell.outcome(command[0], Array(command.dropFirst()) + [path])
            #expect(made.status == 0)
            let again = try await store.begin()
            #expect(await again.partial.length == 0)
            #expect(try await server.deliver(again, to: folder["out"]))
        }
    }

    @Test("A length that can never fit does not empty a store", arguments: ["9223372036854775807", "1000000000000000"])
    func hugeLength(length: String) async throws {
        try await DownloadStore.with { store, _ in
            try await CollectorTests.put("precious", 100_000, into: store)
            let transfer = try await store.begin()
            var head = HTTPResponse(status: .ok)
            head.headerFields[.contentLength] = length
            let plan = await transfer.plan()
            let answer = head
            await #expect(throws: StoreError(.noSpace, "")) { try await transfer.receive(answer, to: plan) }
            try await transfer.close()
            #expect(try await CollectorTests.names(store) == ["precious"])
        }
    }

    @Test("After a crash between rename and row, the delivered file is the user's: edits are not delivered again")
    func sharedInode() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await KillPointTests.download(in: path, dyingAt: .deliverySynced, occurrence: 1)
        }
        try await Shell.run("dd", "if=/dev/zero", "of=\(folder["out"])", "bs=1000", "count=1", "conv=notrunc")
        // The user edited it a minute after the crash.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 60)], ofItemAtPath: folder["out"])
        let store = try await DownloadStore.open(at: folder["store"])
        let transfer = try await store.begin(KillPointTests.url)
        #expect(await transfer.isComplete == false)
        #expect(try await KillPointTests.new.deliver(transfer, to: folder["other"]))
    }

    @Test("T18: rows with the largest and smallest numbers cause no trap", arguments: [Int64.min, -1, Int64.max])
    func extremeNumbers(number: Int64) async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b"] { try await CollectorTests.put(name, 1000, into: store) }
            try folder.sql(
                """
                PRAGMA ignore_check_constraints = ON;
                UPDATE download SET used_at = \(number), created_at = \(number), complete_length = \(number);
                UPDATE chunk SET received = \(number); UPDATE store SET received = \(number);
                """)
            #expect(try await store.entries().count == 2)
            let transfer = try await store.begin("http://127.0.0.1/a")
            try await transfer.close()
            _ = try await store.collect(dryRun: true)
            #expect(try await store.verify().isEmpty == false, "such rows are no valid ones")
            // Both can still be downloaded.
            for name in ["a", "b"] {
                let server = HonestServer(sampleBytes(2000, seed: 1000))
                let transfer = try await store.begin("http://127.0.0.1/\(name)")
                for _ in 0..<5 where await !transfer.isComplete { try await server.fill(transfer) }
                try await transfer.deliver(to: folder[name])
                #expect(try Files.bytes(folder[name]) == server.content)
            }
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test("T18: an unreadable row is dropped when its download is requested, and the totals agree")
    func unreadableRow() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b"] { try await CollectorTests.put(name, 1000, into: store) }
            try folder.sql(
                "PRAGMA ignore_check_constraints = ON; UPDATE download SET state = 'odd' WHERE key LIKE '%/a'")
            let transfer = try await store.begin("http://127.0.0.1/a")
            #expect(await transfer.partial.length == 0)
            try await transfer.close()
            #expect(try await store.totals() == Totals(entries: 1, receivedBytes: 1000))
        }
    }

    @Test("A destination in a folder that is reached through a link is written")
    func linkedFolder() async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["real"])
            try await Shell.run("ln", "-s", folder["real"], folder["link"])
            let store = try await DownloadStore.open(at: folder["store"])
            let transfer = try await store.begin()
            try await HonestServer(sampleBytes(10)).fill(transfer)
            try await transfer.deliver(to: folder["link/out"])
            #expect(try Files.bytes(folder["real/out"]).count == 10)
        }
    }

    @Test("T31: a response whose overlap was not compared to its end completes nothing")
    func uncompared() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.begin()
            let plan = await transfer.plan()
            var head = HTTPResponse(status: .ok)
            head.headerFields[.eTag] = "\"v1\""
            _ = try await transfer.receive(head, to: plan)
            try await transfer.write(sampleBytes(100_000))
            #expect(try await transfer.endBody(.cut) == false)
            let rest = await transfer.plan()
            var answer = HTTPResponse(status: .partialContent)
            answer.headerFields[.eTag] = "\"v1\""
            answer.headerFields[.contentRange] = "bytes 95904-99999/100000"
            _ = try await transfer.receive(answer, to: rest)
            #expect(await transfer.isComplete == false)
            #expect(try await transfer.endBody(.cut) == false)
            _ = try await transfer.receive(answer, to: rest)
            try await transfer.write(Array(sampleBytes(100_000)[95_904...]))
            #expect(try await transfer.endBody(.whole))
        }
    }

    @Test("verify finds and repairs a row that is marked complete without a length")
    func completeWithoutLength() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: HonestServer(sampleBytes(300_000)))
            try folder.sql("UPDATE download SET state = 'complete', complete_length = NULL")
            let found = try await store.verify()
            #expect(found.map(\.kind) == [.notComplete])
            #expect(found.first?.detail.contains("200000 of unknown bytes") == true)
            #expect(try await store.verify(repairing: true).allSatisfy(\.isRepaired))
            #expect(try await store.verify().isEmpty)
        }
    }

    @Test("A row whose ranges do not match its key is replaced when requested; its resume data names the key")
    func plantedSelection() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            try await store.leave(5, of: server)
            try folder.sql("UPDATE download SET selection = 'bytes=0-9'")
            let data = try #require(try await store.resumeData(for: TransferTests.url))
            #expect(data.key == nil && data.selection?.description == "bytes=0-9")
            let transfer = try await store.begin()
            #expect(await transfer.plan() == .whole(reason: nil))
            #expect(try await server.fill(transfer))
            #expect(try await transfer.takeData(upTo: .max) == server.content)
        }
    }

    @Test("A planted path beside a destination is not removed, and a planted queue request is skipped")
    func plantedPaths() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: HonestServer(sampleBytes(300_000)))
            try Files.write([1], to: folder[".x.resumectl"])
            try folder.sql("UPDATE chunk SET path = 'blobs/../x'; UPDATE download SET destination = '\(folder["out"])'")
            let transfer = try await store.begin()
            #expect(await transfer.partial.length == 0)
            try await transfer.close()
            #expect(try Files.names(in: folder.path) == [".x.resumectl", "store"])

            let queue = try await store.jobTable(named: "queue", isShared: false)
            let requests = ["a", "b"].map { name in
                Job(
                    key: name, url: TransferTests.url, destination: folder[name], state: .waiting, priority: 0,
                    isExclusive: false, position: 0, terms: nil)
            }
            _ = try await queue.record(requests, removing: [])
            for state in ["lost", "done", "cancelled"] {
                try folder.sql(
                    "PRAGMA ignore_check_constraints = ON; UPDATE queued SET state = '\(state)' WHERE key = 'a'"
                )
                #expect(try await queue.queued().map(\.key) == ["b"], "\(state)")
            }
            queue.close()
        }
    }

    @Test("The filled file is delivered, even if the blob was renamed and another file has its name")
    func renamedBlob() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            let transfer = try await store.begin()
            try await server.fill(transfer)
            let blob = try folder.blob()
            try await Shell.run("mv", blob, folder["moved"])
            let other = sampleBytes(300_000, seed: 2)
            try Files.write(other, to: blob)
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], server.content))
            #expect(try Files.names(in: folder.path) == ["moved", "out", "store"])
        }
    }
}
