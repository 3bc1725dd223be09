import Foundation
import TestSupport
import Testing

/// One download from one origin, in as many runs of the program as it takes.
struct Visit {
    let origin: any RealOrigin
    let folder: TemporaryFolder
    let program: Resumectl
    /// Options of each run in addition to the common ones.
    var options: [String] = []

    /// The destination of the file.
    var output: String { folder["out"] }

    /// The download rate per second of a run that is to be killed.
    ///
    /// The file takes a minute: a test that is delayed that long fails in ``killed(_:when:)``.
    static let slowly = "256KiB"
    /// How much must be received before a run is killed.
    static let part = 3 << 16
    /// The file, once for all tests: creating it takes time.
    static let bytes = sampleBytes(16 << 20)
    /// Another file of the same size, different at each byte.
    static let otherBytes = bytes.map { ~$0 }

    /// Starts an origin, runs the body, and ends the origin in any case.
    ///
    /// - Returns: The status of each answer of the origin to a GET.
    @discardableResult
    static func with(
        _ kind: OriginKind, serving file: PublishedFile?, _ settings: OriginSettings = OriginSettings(),
        options: [String] = [], _ body: (Visit) async throws -> Void
    ) async throws -> [Int] {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let origin = try await kind.start(file, settings)
        do {
            try await body(
                Visit(origin: origin, folder: folder, program: Resumectl(folder: folder), options: options))
        } catch {
            _ = try? await origin.stop()
            throw error
        }
        return try await origin.stop()
    }

    /// Downloads slowly and kills the program when part of the file is stored.
    ///
    /// - Returns: The events until then.
    @discardableResult
    func cut(after part: Int = part) async throws -> [Event] {
        try await killed(["--limit-rate", Self.slowly]) { events in
            // A busy machine may record it later than it reports it.
            guard events.receivedSinceStart >= part else { return false }
            return try await program.received() >= part / 2
        }
    }

    /// Starts the program and kills it when its events are enough.
    func killed(_ options: [String], when isEnough: ([Event]) async throws -> Bool) async throws -> [Event] {
        let told = folder["told-\(UUID().uuidString)"]
        let process = try program.start(try arguments(options), output: told)
        // Four GiB take minutes on a busy machine.
        try await wait(for: "enough to have come: \(told)", while: process, within: .seconds(1100)) {
            try await isEnough(try Event.all(in: told))
        }
        process.send(SIGKILL)
        let ending = await process.wait()
        let events = try Event.all(in: told)
        try #require(ending == .killed(SIGKILL), "it ended before it could be killed: \(events)")
        #expect(!Files.exists(output), "nothing appears before it is whole")
        return events
    }

    /// Runs the program to its end.
    func finish(_ options: [String] = []) async throws -> (status: Int32, events: [Event], errors: String) {
        let outcome = try await Shell.outcome(Resumectl.path, try arguments(options), environment: program.environment)
        return (outcome.status, Event.all(inText: outcome.output), outcome.errors)
    }

    /// Runs the program to its end, which must deliver a complete and right file.
    ///
    /// - Returns: The events.
    func delivers(_ expected: [UInt8], _ options: [String] = []) async throws -> [Event] {
        let end = try await finish(options)
        #expect(end.status == 0, "\(end.errors)")
        let isRight = FileManager.default.contents(atPath: output) == Data(expected)
        #expect(isRight, "wrong bytes after \(end.events)")
        #expect(end.events.last?.event == "finished")
        #expect(try await program.run("list").output.isEmpty, "the entry is gone with the delivery")
        return end.events
    }

    /// The text of `show` or `log` about the download.
    func says(_ command: String) async throws -> String {
        try await program.run(command, try origin.url()).output
    }

    private func arguments(_ more: [String]) throws -> [String] {
        ["get", try origin.url(), "--output", output, "--json"] + options + more
    }
}

/// A line of the output of `get --json`.
struct Event: Decodable {
    var event: String
    var offset: Int64?
    var reason: String?
    var message: String?
    var receivedBytes: Int64?
    var reusedBytes: Int64?

    static func all(in path: String) throws -> [Event] {
        all(inText: String(decoding: try Files.bytes(path), as: UTF8.self))
    }

    /// The last line may be incomplete, and is then left out.
    static func all(inText text: String) -> [Event] {
        text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
    }
}

extension [Event] {
    /// The received bytes at the last report; none right after a start or a restart.
    var receivedSinceStart: Int64 {
        reduce(0) { received, event in
            switch event.event {
            case "started", "restarted": 0
            case "progress": event.receivedBytes ?? received
            default: received
            }
        }
    }

    /// The first event of a kind.
    func first(_ name: String) -> Event? { first { $0.event == name } }

    var restarts: [String] { compactMap { $0.event == "restarted" ? $0.reason : nil } }
}
