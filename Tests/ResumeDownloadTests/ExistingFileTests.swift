import Foundation
import HTTPTypes
import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeTesting
import Synchronization
import TestSupport
import Testing

/// What a download does about a file at its destination.
@Suite(.timeLimit(.minutes(5)))
struct ExistingFileTests {
    @Test("An existing file is kept without a request, or the download fails")
    func existing() async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try FakeTransportTests.request(folder)
            try Data("old".utf8).write(to: URL(filePath: folder["out"]))
            request.ifExists = .skip
            let result = try await downloader.download(request)
            #expect(result.isExisting)
            #expect(result.totalBytes == 3)
            request.ifExists = .fail
            await #expect { try await downloader.download(request) } throws: {
                ($0 as? StoreError)?.code == .destinationExists
            }
            #expect(transport.requests.isEmpty)
            request.ifExists = .replace
            #expect(try await !downloader.download(request).isExisting)
        }
    }

    @Test("A delivered file is kept as long as neither it nor that of the server changes")
    func revalidated() async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = .revalidate
            #expect(try await !downloader.download(request).isExisting)
            let kept = try await downloader.download(request)
            #expect(kept.isExisting && kept.totalBytes == 200_000)
            #expect(transport.requests.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"1\""])
            // What is known of the file outlives a failure.
            transport.set(FakeResource(FakeTransportTests.content, statuses: [403]))
            await #expect(throws: DownloadError.self) { try await downloader.download(request) }
            transport.set(FakeResource(FakeTransportTests.content))
            #expect(try await downloader.download(request).isExisting)
            let other = Array(FakeTransportTests.content.reversed())
            transport.set(FakeResource(other, entityTag: "\"2\""))
            #expect(try await !downloader.download(request).isExisting)
            #expect(FileManager.default.contents(atPath: folder["out"]) == Data(other))
            // Another program has written the file.
            try Data("mine".utf8).write(to: URL(filePath: folder["out"]))
            #expect(try await !downloader.download(request).isExisting)
            #expect(transport.requests.last?.headerFields[.ifNoneMatch] == nil)
            #expect(FileManager.default.contents(atPath: folder["out"]) == Data(other))
            // A link to the file counts as one.
            request.ifExists = .skip
            try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: folder["out"])
            request.destination = folder["link"]
            #expect(try await downloader.download(request).totalBytes == 200_000)
            #expect(try await downloader.store.collect(maximumSize: 0).removed.isEmpty)
        }
    }

    @Test("A queue keeps a file like a single download, and leaves nothing to the next one", arguments: [true, false])
    func queued(asks: Bool) async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = asks ? .revalidate : .skip
            let queue = try await DownloadQueue.open(downloader)
            #expect(try await !queue.download(request).isExisting)
            #expect(try await queue.download(request).isExisting)
            try await queue.add([request])
            await queue.waitUntilIdle()
            let conditions = transport.requests.map { $0.headerFields[.ifNoneMatch] }
            #expect(conditions == (asks ? [nil, "\"1\"", "\"1\""] : [nil]))
            // What the queue has downloaded is known to a single download as well.
            #expect(try await downloader.download(request).isExisting)
            let other = Array(FakeTransportTests.content.reversed())
            transport.set(FakeResource(other, entityTag: "\"2\""))
            #expect(try await queue.download(request).isExisting == !asks)
            let expected = asks ? other : FakeTransportTests.content
            #expect(FileManager.default.contents(atPath: folder["out"]) == Data(expected))
            await queue.close()
            let next = try await DownloadQueue.open(downloader)
            #expect(await next.restored.isEmpty)
            await next.close()
        }
    }

    @Test("A file that is removed while the server says that it has not changed is fetched again")
    func removedMeanwhile() async throws {
        try await FakeTransportTests.with(FakeTransport(FakeResource(FakeTransportTests.content))) {
            downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = .revalidate
            #expect(try await !downloader.download(request).isExisting)
            request.permits = { [path = folder["out"]] _ in
                try? FileManager.default.removeItem(atPath: path)
                return true
            }
            #expect(try await !downloader.download(request).isExisting)
            #expect(FileManager.default.contents(atPath: folder["out"]) == Data(FakeTransportTests.content))
        }
    }

    #if DEBUG
    /// What happens to a file before its delivery is recorded.
    enum Tampering: Int, CaseIterable { case none, written, writtenInTime }

    @Test(
        "A digest is proved for the delivered bytes only: a file that is written to at once is fetched again",
        arguments: [100_000, 2_000_000], Tampering.allCases)
    func tampered(length: Int, tampering: Tampering) async throws {
        await #expect(processExitsWith: .success) { [length = length as Int, number = tampering.rawValue as Int] in
            let tampering = Tampering(rawValue: number)
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 11) }
            let transport = FakeTransport(FakeResource(bytes))
            for isOwn in [false, true] {
                try await FakeTransportTests.with(transport) { downloader, folder in
                    var request = try FakeTransportTests.request(folder)
                    request.ifExists = .revalidate
                    request.digest = HTTPDigest(.sha256, of: bytes)
                    if isOwn { request.replacing = .own }
                    let reads = Mutex(0)
                    request.onCheck = { _, _ in reads.withLock { $0 += 1 } }
                    // The second one is reached after the name was recorded in the store.
                    KillPoint.arm(tampering == .writtenInTime ? .rowRemoved : .deliveryRenamed) {
                        [out = folder["out"]] in
                        guard tampering != Tampering.none, let file = FileHandle(forWritingAtPath: out) else { return }
                        file.write(Data([0xFF]))
                        try? file.close()
                    }
                    #expect(try await !downloader.download(request).isExisting)
                    KillPoint.disarm()
                    let isUntouched = tampering == Tampering.none
                    do {
                        #expect(try await downloader.download(request).isExisting == isUntouched, "\(length) \(number)")
                        #expect(FileManager.default.contents(atPath: folder["out"]) == Data(bytes))
                    } catch let error as StoreError {
                        // What somebody has changed is not replaced.
                        #expect(error.code == .destinationExists && isOwn && !isUntouched, "\(error)")
                    }
                    #expect(reads.withLock { $0 } == 0 || !isUntouched, "\(length) \(number)")
                }
            }
        }
    }
    #endif

    @Test("What the store remembers for revalidation is no job that is left, and has no header fields")
    func remembered() async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content, cuts: [90_000]))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = .revalidate
            request.retryPolicy.retries = 0
            request.headerFields[try #require(HTTPField.Name("X-Api-Key"))] = "S3CRET"
            request.headerFields[.proxyAuthorization] = "S3CRET"
            let table = try await downloader.store.jobTable(named: "revalidation")
            var count = 0
            await #expect(throws: DownloadError.self) {
                for try await _ in downloader.events(request) {
                    count += 1
                    #expect(try await table.unfinishedLists().isEmpty)
                }
            }
            #expect(count > 0)
            let (names, folder) = (
                try FileManager.default.subpathsOfDirectory(atPath: folder["store"]), folder["store"]
            )
            #expect(names.contains("store.sqlite"))
            for name in names {
                // A copy: closing a database that SQLite has open drops its locks.
                let bytes = try await Shell.run(
                    "sh", "-c", "tr -d '\\000' <'\(folder)/\(name)' | grep -c S3CRET || true")
                #expect(bytes == "0\n" || bytes.isEmpty, "\(name)")
            }
        }
    }

    @Test("A download that does not revalidate, since another task does, leaves no job either")
    func rememberedByAnother() async throws {
        try await FakeTransportTests.with(FakeTransport(FakeResource(FakeTransportTests.content))) {
            downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = .revalidate
            #expect(try await !downloader.download(request).isExisting)
            let table = try await downloader.store.jobTable(named: "revalidation")
            var ids: [Int64] = []
            try await table.forEach { ids.append($0.id) }
            guard case .taken? = try await table.claim(ids, again: true).first else {
                Issue.record("the row is locked")
                return
            }
            #expect(try await !downloader.download(request).isExisting)
            #expect(try await table.unfinishedLists().isEmpty)
            table.release(ids[0])
        }
    }

    @Test("A stream does not read a file that exists", arguments: DownloadRequest.IfExists.allCases)
    func stream(ifExists: DownloadRequest.IfExists) async throws {
        try await FakeTransportTests.with(FakeTransport(FakeResource(FakeTransportTests.content))) {
            downloader, folder in
            var request = try FakeTransportTests.request(folder)
            request.ifExists = .revalidate
            _ = try await downloader.download(request)
            request.ifExists = ifExists
            var bytes: [UInt8] = []
            do {
                for try await piece in downloader.makeStream(request) { bytes += piece }
                #expect(ifExists == .replace || ifExists == .revalidate)
                #expect(bytes == FakeTransportTests.content)
            } catch let error as StoreError {
                #expect(error.code == .destinationExists && (ifExists == .skip || ifExists == .fail))
            }
        }
    }
}
