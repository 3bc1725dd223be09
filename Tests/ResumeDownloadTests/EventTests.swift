import OriginServer
@testable import ResumeDownload
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// The sequence of a download's events.
@Suite(.timeLimit(.minutes(5)))
struct EventTests {
    @Test("A reader that sleeps until the end gets every event but repeated progress", arguments: [false, true])
    func sleeping(isTask: Bool) async throws {
        let length = 100
        let resource = Resource(Content(length: Int64(length) * 20_000, seed: 3), etag: "\"v1\"")
        try await Desk.with({ .file(resource, for: $0, cutAfter: 30_000) }) { desk in
            let request = try desk.request { $0.overlap = 0 }
            let told: [DownloadEvent]
            if isTask {
                let task = desk.downloader.makeTask(request)
                task.resume()
                try await task.reaches(.completed)
                told = await task.rest()
                #expect(try await task.value.totalBytes == resource.content.length)
            } else {
                let events = desk.downloader.events(request)
                try await wait(for: "the delivery") { Files.exists(desk.output) }
                told = try await events.reduce(into: []) { $0.append($1) }
                guard case .finished? = told.last else {
                    Issue.record("ended with \(String(describing: told.last))")
                    return
                }
            }
            let retries = told.filter { if case .retrying = $0 { true } else { false } }.count
            #expect(retries >= 65, "\(retries)")
            #expect(told.offsets.count == retries && told.offsets == told.offsets.sorted())
            guard case .started? = told.first(where: { if case .progress = $0 { false } else { true } }) else {
                Issue.record("began with \(String(describing: told.first))")
                return
            }
            for (event, next) in zip(told, told.dropFirst()) {
                if case .progress = event, case .progress = next { Issue.record("\(event) and \(next) in a row") }
            }
        }
    }

    @Test("The error is thrown once, after the events before it; an abandoned sequence cancels its download")
    func ends() async throws {
        try await Desk.with({ _ in .status("404 Not Found") }) { desk in
            var events = desk.downloader.events(try desk.request()).makeAsyncIterator()
            await #expect(throws: DownloadError.self) { while try await events.next() != nil {} }
            let end = try await events.next(isolation: #isolation)
            #expect(end == nil)
        }
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            for try await event in desk.downloader.events(try desk.request()) {
                if case .progress(Desk.held, _) = event { break }
            }
            #expect(try await desk.idleEntry().receivedBytes == Desk.held)
        }
    }
}
