import Dispatch
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// Callers that request one resource to several files: each gets its file, whatever other callers do.
@Suite(.timeLimit(.minutes(10)))
struct QueueDestinationTests {
    @Test("Two destinations of one resource: each has its file, and the origin is asked once")
    func destinations() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a", to: "1")
            let told = Told()
            let tasks = [
                try await bench.ask("a", to: "2") { told.note($0) }, try await bench.ask("a", to: "3"),
            ]
            await bench.goOn("a")
            for task in [first] + tasks { _ = try await task.value }
            let ends = told.all.compactMap { if case .finished(let result) = $0 { result.path } else { nil } }
            #expect(ends == [bench.folder["2"]], "progress of the download, and the end of the own file")
            #expect(told.all.contains { if case .resumed = $0 { true } else { false } })
            for file in ["1", "2", "3"] { #expect(try bench.isWhole("a", as: file)) }
            #expect(bench.requests(for: "a").map { $0.byteRange?.first } == [nil, MediaOrigin.half - 4096])
            #expect(try await bench.store.entries().isEmpty, "nothing is left in the store")
            // Separate files: writing to one does not change another.
            try Files.write([1], to: bench.folder["1"])
            #expect(try bench.isWhole("a", as: "2"))
        }
    }

    @Test("A destination requested while the other one is written gets its copy, too")
    func lateDestination() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a", to: "1")
            bench.origin.release()
            let second = try await bench.ask("a", to: "2")
            await bench.queue.setMaximumRunning(2)
            let b = try await bench.ask("b", isExclusive: true)
            for task in [b, first, second] { _ = try await task.value }
            #expect(bench.requests(for: "a").count == 2, "one of them for the rest")
            #expect(try bench.isWhole("a", as: "1") && bench.isWhole("a", as: "2"))
        }
    }

    @Test("Cancelling one caller leaves the others alone, of the same destination and of another one")
    func oneLeaves() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a", to: "1")
            let same = try await bench.ask("a", to: "1")
            let other = try await bench.ask("a", to: "2")
            first.cancel()
            #expect(await failure(of: first) is CancellationError)
            await bench.goOn("a")
            for task in [same, other] { _ = try await task.value }
            #expect(try bench.isWhole("a", as: "1") && bench.isWhole("a", as: "2"))
        }
    }

    @Test("A destination whose last caller left is not written")
    func destinationLeft() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a", to: "1")
            let other = try await bench.ask("a", to: "2")
            bench.origin.release()
            first.cancel()
            _ = try await other.value
            #expect(!Files.exists(bench.folder["1"]))
            #expect(try bench.isWhole("a", as: "2"))
            #expect(bench.requests(for: "a").map { $0.byteRange != nil } == [false, true])
            #expect(try await bench.store.entries().isEmpty)
        }
    }

    @Test("The store keeps a delivered file for another destination until the run for that one begins")
    func keptForNext() async throws {
        try await QueueBench.with { bench in
            let (reached, gate) = (Flag(), DispatchSemaphore(value: 0))
            let first = try await bench.stall("a", to: "1") { event in
                if case .finished = event {
                    reached.set()
                    gate.wait()
                }
            }
            let second = try await bench.ask("a", to: "2")
            await bench.goOn("a")
            try await bench.wait(for: "the first file is delivered") { reached.isSet }
            // Nothing can be recorded for a moment.
            let other = try Connection.open(path: bench.folder["store/store.sqlite"])
            try other.execute("BEGIN IMMEDIATE")
            gate.signal()
            _ = try await first.value
            try await bench.wait(for: "the second run is recorded") { await bench.queue.isRecording }
            // Takes a while, since the rows are being written.
            _ = await bench.queue.report()
            #expect(await bench.queue.hasAnnouncedWaiting(for: bench.key("a")))
            try other.execute("COMMIT")
            _ = try await second.value
            #expect(try bench.isWhole("a", as: "1") && bench.isWhole("a", as: "2"))
            #expect(try await bench.store.entries().isEmpty, "nothing is left in the store")
        }
    }

    @Test("Nothing is left in the store for a destination whose caller left before its turn")
    func nothingLeft() async throws {
        try await QueueBench.with { bench in
            let (reached, gate) = (Flag(), DispatchSemaphore(value: 0))
            // Progress is reported on the transfer's thread, which the delivery waits for.
            let first = try await bench.ask("a", to: "1") { event in
                if case .progress = event, !reached.isSet {
                    reached.set()
                    gate.wait()
                }
            }
            try await bench.wait(for: "it has begun") { reached.isSet }
            let second = try await bench.ask("a", to: "2")
            #expect(await bench.queue.hasAnnouncedWaiting(for: bench.key("a")))
            second.cancel()
            #expect(await failure(of: second) is CancellationError)
            try await bench.queue.add([])
            gate.signal()
            _ = try await first.value
            #expect(try await bench.store.entries().isEmpty)
            #expect(!Files.exists(bench.folder["2"]))
        }
    }

    @Test("A destination that cannot be written fails only its own callers")
    func badDestination() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let bad = try await bench.ask("a", to: "missing/1")
            let good = try await bench.ask("a", to: "2")
            await bench.queue.resumeAll()
            _ = try await good.value
            #expect((await failure(of: bad) as? StoreError)?.code == .destination)
            #expect(try bench.isWhole("a", as: "2"))
        }
    }

    @Test("So does one whose name is taken, if the server may name the file")
    func takenName() async throws {
        try await QueueBench.with { bench in
            try Files.write([1], to: bench.folder["1"])
            await bench.queue.pauseAll()
            var request = try bench.request("a", to: "1")
            request.usesServerFilename = true
            let (queue, taken) = (bench.queue, request)
            let bad = Task { try await queue.download(taken) }
            let good = try await bench.ask("a", to: "2")
            await bench.queue.resumeAll()
            _ = try await good.value
            #expect((await failure(of: bad) as? StoreError)?.code == .destinationExists)
            #expect(try bench.isWhole("a", as: "2"))
            #expect(try Files.bytes(bench.folder["1"]) == [1])
        }
    }
}
