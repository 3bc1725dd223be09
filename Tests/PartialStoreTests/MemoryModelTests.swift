import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The store on disk is the model of the one in memory: the same calls give the same plans, verdicts, errors and bytes.
@Suite(.timeLimit(.minutes(10)))
struct MemoryModelTests {
    /// The result of a call, for comparison.
    static func outcome<Value>(_ body: () async throws -> Value) async -> String {
        do {
            return "\(try await body())"
        } catch let error as StoreError {
            return "StoreError \(error.code)"
        } catch {
            return "\(type(of: error))"
        }
    }

    /// An answer that is often right, and often not.
    static func answer(to plan: Plan, _ random: inout SplitMix64) -> (HTTPResponse, [UInt8]) {
        let version = random.pick([1, 1, 1, 2])
        let file = sampleBytes(20_000, seed: UInt64(version))
        var head = HTTPResponse(status: .ok)
        var body = file
        if let range = plan.fields[.range], random.happens(85) {
            let first = Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) ?? 0
            let start = min(max(first + random.pick([0, 0, 0, 0, 1, -7]), 0), file.count - 1)
            head.status = .partialContent
            head.headerFields[.contentRange] =
                "bytes \(start)-\(file.count - 1)/\(random.pick(["20000", "20000", "*"]))"
            body = Array(file[start...])
        }
        head.status = random.pick(
            Array(repeating: head.status, count: 12) + [.init(code: 416), .init(code: 503), .notFound])
        head.headerFields[.eTag] = random.pick(
            ["\"v\(version)\"", "\"v\(version)\"", "\"v\(version)\"", "\"v1\"", "W/\"v1\"", nil])
        if random.happens(20) { head.headerFields[.acceptRanges] = random.pick(["none", "bytes"]) }
        if random.happens(70) { head.headerFields[.contentLength] = "\(body.count)" }
        if random.happens(5) { body += [1, 2, 3] }
        if random.happens(5), !body.isEmpty { body[random.pick([0, body.count / 2])] ^= 1 }
        return (head, body)
    }

    @Test("The same calls have the same results in memory as on disk", arguments: 0..<12)
    func sameAsDisk(seed: Int) async throws {
        try await TemporaryFolder.with { folder in
            let disk = try await DownloadStore.open(at: folder["store"])
            let memory = MemoryStore(maximumSize: 1 << 30, maximumEntrySize: 1 << 30)
            var random = SplitMix64(seed: UInt64(seed) &* 7919)
            var delivered = 0
            var trace: [String] = []
            for _ in 0..<25 {
                let url = try DownloadURL("http://127.0.0.1/\(random.pick(["a", "b"]))")
                let policy = ResumePolicy(overlap: random.pick([0, 16, 4096]))
                let left = try await disk.open(url, headerFields: [:], policy: policy)
                let right = try await memory.open(url, headerFields: [:], policy: policy)
                let begin = trace.count
                delivered += try await Self.work(left, right, &random, &trace)
                try await left.close()
                try await right.close()
                // On disk, the bytes that a new version replaces are kept as well, also if that one is discarded.
                if trace[begin...].contains("replaces") {
                    _ = try await disk.purge { _ in true }
                    memory.removeAll()
                }
            }
            #expect(delivered > 3)
            await disk.close()
        }
    }

    /// Some requests of one transfer each, with the same answers.
    static func work(
        _ left: Transfer, _ right: Transfer, _ random: inout SplitMix64, _ trace: inout [String]
    ) async throws -> Int {
        trace.append("begin \(left.key)")
        var replaces = false
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let (diskPartial, partial) = (await left.partial, await right.partial)
            try #require(diskPartial == partial, "\(trace.suffix(12))")
            if await left.isComplete {
                let bytes = await outcome { try await left.takeData(upTo: 20_000) }
                #expect(await outcome { try await right.takeData(upTo: 20_000) } == bytes)
                return bytes.hasPrefix("[") ? 1 : 0
            }
            let plan = await left.plan()
            #expect(await right.plan() == plan)
            let (head, body) = answer(to: plan, &random)
            let verdict = await outcome { try await left.receive(head, to: plan) }
            #expect(await outcome { try await right.receive(head, to: plan) } == verdict)
            trace.append("\(head.status.code): \(verdict)")
            if verdict.hasPrefix("startOver"), partial.length > 0 {
                trace.append("replaces")
                replaces = true
            }
            let end = random.happens(50) ? body.count : Int.random(in: 0...body.count, using: &random)
            for start in stride(from: 0, to: end, by: 3000) {
                let part = Array(body[start..<min(start + 3000, end)])
                let written = await outcome { try await left.write(part) }
                #expect(await outcome { try await right.write(part) } == written)
                if written != "()" { break }
            }
            let ending = random.pick([Transfer.BodyEnding.whole, .closeDelimited, .cut])
            let ended = await outcome { try await left.endBody(ending) }
            #expect(await outcome { try await right.endBody(ending) } == ended)
            trace.append("\(end) bytes, \(ending): \(ended)")
            let reason = Reason(code: "test", text: "Test.")
            // Bytes that were never stored cannot be wrong.
            guard await left.partial.representation != nil else { continue }
            if random.happens(5) {
                trace.append("discard")
                try await left.discard(reason: reason)
                try await right.discard(reason: reason)
                // On disk, the next answer is judged by the bytes that were replaced.
                if replaces { return 0 }
            } else if random.happens(10) {
                let length = await left.partial.length / 2
                trace.append("rewind to \(length)")
                try await left.rewind(to: length, reason: reason)
                try await right.rewind(to: length, reason: reason)
            }
        }
        return 0
    }
}
