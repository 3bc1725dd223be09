import HTTPTypes
import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// A downloader as an embedding program uses it, with helpers that tests wait on.
struct Desk {
    let downloader: Downloader
    let origin: Origin

    /// Runs a test with a downloader over an origin's store.
    static func with(_ handler: @escaping Origin.Handler, _ body: (Desk) async throws -> Void) async throws {
        try await Origin.with(handler) { try await with($0, body) }
    }

    /// Runs a test with a downloader over an existing origin.
    ///
    /// - Parameters:
    ///   - origin: The origin.
    ///   - flag: Whether the end of a completely received body may be reported; nil for always.
    ///   - body: The test.
    /// - Throws: What the test throws.
    static func with(
        _ origin: Origin, holdingEndsUntil flag: Flag? = nil, _ body: (Desk) async throws -> Void
    ) async throws {
        try await TransportKind.withTransport { transport in
            let held = HeldEnds(transport: transport, flag: flag)
            try await body(Desk(downloader: Downloader(store: origin.store, transport: held), origin: origin))
        }
    }

    var output: String { origin.folder["out"] }

    /// The request for the origin's file.
    func request(_ configure: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadRequest {
        var request = DownloadRequest(try DownloadURL(origin.url), to: output)
        request.retryPolicy = .init(
            retries: 2, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        request.stallTimeout = Engine.patience
        configure(&request)
        return request
    }

    /// How much of the file has been received when ``cancelled(_:)`` returns.
    static let held: Int64 = 60_000

    /// Runs a task until part of the file has been received, after which the server sends nothing more.
    func running(_ configure: (inout DownloadRequest) -> Void = { _ in }) async throws -> DownloadTask {
        let task = downloader.makeTask(try request(configure))
        await task.resume(untilReceived: Self.held)
        return task
    }

    /// Suspends a task when part of the file has been received.
    func suspended(_ configure: (inout DownloadRequest) -> Void = { _ in }) async throws -> DownloadTask {
        let task = try await running(configure)
        task.suspend()
        try await task.reaches(.suspended)
        return task
    }

    /// Cancels a task when part of the file has been received.
    func cancelled(_ configure: (inout DownloadRequest) -> Void = { _ in }) async throws -> ResumeData? {
        let task = try await running(configure)
        let data = await task.cancelByProducingResumeData()
        #expect(task.state == .completed)
        return data
    }

    /// Waits until there is an entry whose lease is free.
    ///
    /// - Returns: The entry.
    func idleEntry() async throws -> Entry {
        while true {
            let entry = try await origin.store.entries().first
            // Its row may have been read just before the last commit, and its lock just after that.
            if entry?.isInUse == false, let settled = try await origin.store.entries().first { return settled }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

extension DownloadTask {
    /// Starts it and waits until the given number of bytes has been received.
    ///
    /// - Returns: The events until then.
    @discardableResult
    func resume(untilReceived count: Int64) async -> [DownloadEvent] {
        resume()
        var told: [DownloadEvent] = []
        for await event in events {
            told.append(event)
            if case .progress(let received, _) = event, received >= count { break }
        }
        return told
    }

    /// Waits until it is in a state.
    func reaches(_ wanted: State) async throws {
        try await wait { state == wanted }
    }

    /// The events to the end.
    func rest() async -> [DownloadEvent] {
        var told: [DownloadEvent] = []
        for await event in events { told.append(event) }
        return told
    }
}

extension [DownloadEvent] {
    /// The offset of each resume.
    var offsets: [Int64] {
        compactMap { if case .resumed(let offset, _) = $0 { offset } else { nil } }
    }

    /// Why resume data was outdated.
    var outdated: [String] {
        compactMap { if case .resumeDataOutdated(let reason) = $0 { reason.code.rawValue } else { nil } }
    }

    /// The reason for each restart.
    var restarts: [String] {
        compactMap { if case .restarted(let reason, _) = $0 { reason.code.rawValue } else { nil } }
    }
}

extension Resource {
    /// Sends part of the requested file, then nothing more until the client disconnects.
    func stalling(at length: Int64) -> Origin.Handler {
        { .file(self, for: $0, cutAfter: length, stall: true) }
    }
}

/// A transport that reports the end of a body only when a flag is set.
private struct HeldEnds: Transport {
    let transport: any Transport
    let flag: Flag?

    private final class Body: ResponseBody {
        let body: any ResponseBody
        let flag: Flag

        init(_ body: any ResponseBody, _ flag: Flag) { (self.body, self.flag) = (body, flag) }

        func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
            if try await body.read(reader) { return true }
            try await wait { flag.isSet }
            return false
        }

        func pause() { body.pause() }

        func cancel(with error: any Error) { body.cancel(with: error) }
    }

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        var response = try await transport.send(request)
        if let flag { response.body = Body(response.body, flag) }
        return response
    }
}
