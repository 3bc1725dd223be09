import Foundation
import OriginServer
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Resume data that was kept for a while: in another process, and after the store's contents have changed.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct KeptResumeDataTests {
    @Test("Resume data remains valid after a restart, in another process, with the store moved")
    func moved() async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { .file(.old, for: $0, cutAfter: Desk.held) }) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                var failure: DownloadError?
                do {
                    _ = try await Engine.get(server.baseURL + "/file", to: folder["out"], store: store) {
                        $0.retryPolicy.retries = 0
                    }
                } catch let error as DownloadError {
                    failure = error
                }
                await store.close()
                let kept = try #require(failure?.resumeData).bytes
                #expect(!String(decoding: kept, as: UTF8.self).contains(folder.path), "it has no path of the store")
                try FileManager.default.createDirectory(atPath: folder["elsewhere"], withIntermediateDirectories: true)
                try FileManager.default.moveItem(atPath: folder["store"], toPath: folder["elsewhere/moved"])
                server.setHandler { .file(.old, for: $0) }
                await Self.expectGoingOn(kept, in: folder.path)
                #expect(try Files.bytes(folder["out"]) == Resource.old.bytes)
                #expect(server.requests.map { $0.field("Range") ?? "all" } == ["all", "bytes=55904-"])
            }
        }
    }

    /// Another process resumes from the kept data.
    private static func expectGoingOn(_ kept: [UInt8], in folder: String) async {
        await #expect(processExitsWith: .success) { [kept = kept as [UInt8], folder = folder as String] in
            let data = try ResumeData(kept)
            let store = try await DownloadStore.open(at: folder + "/elsewhere/moved", creating: false)
            let transport = CurlTransport(.init(connectTimeout: Engine.patience, threads: 1))
            let task = Downloader(store: store, transport: transport).makeTask(
                DownloadRequest(resuming: data, to: folder + "/out"))
            task.resume()
            let reused = try await task.value.reusedBytes
            await transport.shutdown()
            await store.close()
            #expect(reused == data.receivedBytes)
        }
    }

    @Test("Data whose bytes are gone restarts, with an event and a reason: evicted, delivered, another store")
    func gone() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let data = try #require(try await desk.cancelled())
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let url = try DownloadURL(desk.origin.url)
            _ = try await desk.origin.store.purge { $0.key == url.redacted }
            // The first time the stored bytes were removed, the second time the file has been delivered.
            for _ in 0..<2 {
                let task = desk.downloader.makeTask(DownloadRequest(resuming: data, to: desk.output))
                task.resume()
                #expect(try await task.value.reusedBytes == 0)
                let events = await task.rest()
                #expect(events.outdated == ["partial-gone"] && events.restarts.isEmpty)
                #expect(try desk.origin.hasDelivered(.old))
            }
            #expect(try await desk.origin.reasons().contains("partial-gone"), "it can be read later")
        }
    }

    @Test("If the store now has another version, that one is resumed, and an event says so")
    func overtaken() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let data = try #require(try await desk.cancelled())
            desk.origin.server.setHandler(Resource.new.stalling(at: 70_000))
            _ = try await desk.cancelled()
            desk.origin.server.setHandler { .file(.new, for: $0) }
            let task = desk.downloader.makeTask(DownloadRequest(resuming: data, to: desk.output))
            task.resume()
            #expect(try await task.value.reusedBytes > 0)
            let events = await task.rest()
            #expect(events.outdated == ["other-representation-held"])
            #expect(events.restarts.isEmpty, "it goes on with what is held")
            var meter = ProgressMeter()
            let told = events.reduce(Int64(0)) { $0 + (meter.step(for: $1)?.bytes ?? 0) }
            #expect(told + events.offsets[0] == Int64(Resource.new.bytes.count), "what was held is no progress")
            #expect(events.offsets.count == 1)
            #expect(try desk.origin.hasDelivered(.new))
        }
    }

    @Test("A signed URL is not in the data: a fresh one resumes; without one stored bytes stay")
    func signed() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let signed = try DownloadURL(desk.origin.url.replacing("//", with: "//me:secret@") + "?X-Amz-Signature=1")
            let data = try #require(try await desk.cancelled { $0.url = signed })
            let text = String(decoding: data.bytes, as: UTF8.self)
            #expect(!text.contains("Signature") && !text.contains("secret"))
            desk.origin.server.setHandler { request in
                request.target.hasSuffix("?X-Amz-Signature=2") ? .file(.old, for: request) : .status("403 Forbidden")
            }
            let unsigned = desk.downloader.makeTask(DownloadRequest(resuming: data, to: desk.output))
            unsigned.resume()
            let error = await #expect(throws: DownloadError.self) { try await unsigned.value }
            #expect(error?.status == 403)
            #expect(error?.resumeData == data, "as good as before")
            let fresh = try DownloadURL(desk.origin.url + "?X-Amz-Signature=2")
            let task = desk.downloader.makeTask(DownloadRequest(resuming: data, to: desk.output, at: fresh))
            task.resume()
            #expect(try await task.value.reusedBytes == Desk.held)
            #expect(try desk.origin.hasDelivered(.old))
        }
    }

    @Test("The caller's key and ranges are preserved")
    func keyAndRanges() async throws {
        try await Desk.with(Resource.old.stalling(at: 30_000)) { desk in
            let ranges = try RangeSelection(parsing: "bytes=10000-59999,90000-")
            let task = desk.downloader.makeTask(
                try desk.request {
                    $0.key = "mine"
                    $0.selection = ranges
                })
            await task.resume(untilReceived: 30_000)
            let data = try #require(await task.cancelByProducingResumeData())
            #expect(data.key == "mine" && data.selection == ranges)
            #expect(data.totalBytes == 60_000)
            let again = try ResumeData(data.bytes)
            #expect(again == data)
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let rest = desk.downloader.makeTask(DownloadRequest(resuming: again, to: desk.output))
            rest.resume()
            #expect(try await rest.value.reusedBytes == 30_000)
            let expected =
                Resource.old.content.bytes(in: 10_000..<60_000) + Resource.old.content.bytes(in: 90_000..<100_000)
            #expect(try Files.bytes(desk.output) == expected)
        }
    }
}
