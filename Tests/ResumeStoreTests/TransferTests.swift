import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// The API for programs with another HTTP client, used as they use it.
@Suite(.timeLimit(.minutes(5)))
struct TransferTests {
    static let url = DownloadStore.testURL

    @Test("A stopped download is continued after the store is opened again, and delivered whole")
    func resume() async throws {
        try await TemporaryFolder.with { folder in
            let server = HonestServer(sampleBytes(3_000_000))
            let first = try await DownloadStore.open(at: folder["store"])
            let transfer = try await first.begin()
            #expect(await transfer.plan() == .whole(reason: nil))
            #expect(try await server.fill(transfer, upTo: 1_700_000) == false)
            try await transfer.close()
            await first.close()

            let second = try await DownloadStore.open(at: folder["store"], creating: false)
            let again = try await second.begin()
            #expect(await again.partial.length == 1_700_000)
            let plan = await again.plan()
            #expect(plan.fields[.range] == "bytes=\(1_700_000 - 4096)-")
            #expect(plan.fields[.ifRange] == "\"v1\"")
            #expect(try await server.deliver(again, to: folder["out"]))
            #expect(try await second.entries().isEmpty)
            #expect(try folder.blobs().isEmpty)
            #expect(try await second.totals() == Totals(entries: 0, receivedBytes: 0))
            #expect(try await second.events(for: Self.url).map(\.kind) == [.started, .resumed, .delivered])
        }
    }

    @Test("The number of a row is not one that a process which is being killed still has locked", arguments: [1, 3])
    func lockedNumber(count: Int64) async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            // Its transaction is rolled back before the kernel closes its last file, and the next row gets the number.
            let ending = try store.folder.locks(.leases)
            for id in 1...count { #expect(try ending.tryLock(id)) }
            let transfer = try await store.begin()
            #expect(try await server.fill(transfer, upTo: 200_000) == false)
            try await transfer.close()
            #expect(try await store.totals() == Totals(entries: 1, receivedBytes: 200_000))
            #expect(try await store.entries().map(\.id) == [count + 1])
            #expect(try await server.deliver(try await store.begin(), to: folder["out"]))
            #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("T1, T13: a changed representation gets a separate blob, and the old one is removed with its delivery")
    func changed() async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await HonestServer(sampleBytes(300_000)).fill(transfer, upTo: 200_000)
            let before = try folder.blobs()
            let changed = HonestServer(sampleBytes(300_000, seed: 2), etag: "\"v2\"")
            #expect(try await changed.fill(transfer))
            let after = try folder.blobs()
            #expect(before.count == 1 && after.count == 2 && Set(before).isSubset(of: after))
            try await transfer.deliver(to: folder["out"])
            #expect(try folder.blobs().isEmpty)
            #expect(try Files.bytes(folder["out"]) == changed.content)
            let restart = try await store.events(for: Self.url).first { $0.kind == .restarted }
            #expect(restart?.reason.code.rawValue == "entity-tag-changed")
            #expect(restart?.bytes == 200_000)
        }
    }

    @Test("T2, T31: bytes that differ in the overlap are refused and nothing is appended")
    func overlap() async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await HonestServer(sampleBytes(300_000)).fill(transfer, upTo: 200_000)
            // Another file with the same strong entity tag, as when it is replaced within a second.
            let replaced = HonestServer(sampleBytes(300_000, seed: 2))
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await replaced.fill(transfer) }
            #expect(await transfer.partial.length == 200_000)
            try await transfer.discard(reason: .heldBytesDiffer(at: 195_904))
            #expect(await transfer.plan() == .whole(reason: nil))
            #expect(try await replaced.deliver(transfer, to: folder["out"]))
        }
    }

    @Test("C12, C16: bytes beyond the announced length are refused")
    func surplus() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.begin()
            try await transfer.receive([.contentLength: "10"])
            await #expect(throws: StoreError(.surplusBytes, "")) { try await transfer.write(sampleBytes(11)) }
            #expect(await transfer.partial.length == 10)
        }
    }

    @Test("T5: a short body is never complete, and an empty file is")
    func coverage() async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await transfer.receive([.contentLength: "10"])
            try await transfer.write(sampleBytes(9))
            #expect(try await transfer.endBody(.whole) == false)
            await #expect(throws: StoreError(.misuse, "")) {
                try await transfer.deliver(to: folder["out"])
            }
            let empty = try await store.begin("http://127.0.0.1/empty")
            #expect(try await HonestServer([]).fill(empty))
            try await empty.deliver(to: folder["empty"])
            #expect(try Files.bytes(folder["empty"]).isEmpty)
        }
    }

    @Test("T14: after a reboot only fsynced data is trusted")
    func bootIdentifier() async throws {
        try await TemporaryFolder.with { folder in
            let server = HonestServer(sampleBytes(3_000_000))
            let first = try await DownloadStore.open(at: folder["store"])
            try await first.leave(2_500_000, of: server)
            // This process must not record anything in parallel with the changes that follow.
            await first.close()
            let durable: Int64 = 1_000_000
            try folder.sql("UPDATE download SET boot_id = 'an earlier one'; UPDATE chunk SET durable = \(durable)")
            let store = try await DownloadStore.open(at: folder["store"], creating: false)
            let again = try await store.begin()
            #expect(await again.partial.length == durable)
            #expect(try await store.totals().receivedBytes == durable)
            #expect(try await server.deliver(again, to: folder["out"]))
        }
    }

    @Test("A22: a blob shorter than its row counts up to its length; a missing blob counts for nothing")
    func shortBlob() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(300_000))
            for (size, expected) in [("100000", Int64(100_000)), (nil, 0)] {
                try await store.leave(200_000, of: server)
                let blob = try folder.blob()
                if let size {
                    try await Shell.run("truncate", "-s", size, blob)
                } else {
                    try await Shell.run("rm", blob)
                }
                let again = try await store.begin()
                #expect(await again.partial.length == expected)
                try await again.close()
            }
        }
    }

    @Test("An overtaken writer gets an error, and changes nothing")
    func superseded() async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            let server = HonestServer(sampleBytes(300_000))
            try await server.fill(transfer, upTo: 100_000)
            // What another process does whose locks do not work.
            try folder.sql("UPDATE download SET generation = 1; UPDATE chunk SET generation = 1")
            await #expect(throws: StoreError(.superseded, "")) { try await server.fill(transfer, upTo: 200_000) }
            #expect(try await store.entry(for: Self.url)?.receivedBytes == 100_000)
        }
    }

    @Test("Calls in the wrong order are errors")
    func misuse() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.begin()
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.write([1]) }
            try await transfer.close()
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.endBody(.whole) }
            // Nothing was received, so nothing is left.
            #expect(try await store.entries().isEmpty)
        }
    }
}
