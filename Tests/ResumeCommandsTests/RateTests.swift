import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Limits that depend on the time of day, that are changed while downloads run, and connections for each host.
@Suite(.timeLimit(.minutes(20)))
struct RateTests {
    private let home = Home()

    @Test("A limit for a time of day, and one for the rest")
    func windows() throws {
        let plan = try #require(RatePlan("08:00-18:00=1M,22:30-06:00=3M,10M"))
        let cases = [(0, 3), (359, 3), (360, 10), (479, 10), (480, 1), (1079, 1), (1080, 10), (1349, 10), (1350, 3)]
        for (minute, rate) in cases { #expect(plan.rate(at: minute) == Int64(rate) << 20, "\(minute)") }
        #expect(plan.constant == nil)
        #expect(RatePlan("08:00-24:00=1k")?.rate(at: 479) == nil)
        #expect(RatePlan("08:00-24:00=1k")?.rate(at: 1439) == 1024)
        #expect(RatePlan("2M")?.constant == 2 << 20 && RatePlan("2.0 MiB/s")?.rate(at: 0) == 2 << 20)
        #expect(RatePlan("none").map { $0.rate(at: 0) == nil && $0.constant == nil } == true)
        // The first window counts.
        #expect(RatePlan("00:00-12:00=1k,00:00-24:00=2k")?.rate(at: 60) == 1024)
    }

    private static let wrong = [
        "", "0", "x", "1M,2M", "08:00=1M", "8-18=1M", "08:00-18:00", "08:00-18:00=", "08:00-18:00=0", "25:00-26:00=1M",
        "08:60-18:00=1M", "08:00-08:00=1M", "08:00-18:00=1M,", "-1:00-02:00=1M", "08:00-18:00-19:00=1M", "24:01-1:00=1",
        "99999999999999999999:00-01:00=1",
    ]

    @Test("Anything else is refused, with the accepted forms", arguments: wrong)
    func refused(text: String) async throws {
        #expect(RatePlan(text) == nil)
        // Without a value, the parser says so.
        for arguments in text.isEmpty ? [] : [["get", "http://127.0.0.1:9/f"], ["set"], ["resume"]] {
            let outcome = await home.run(arguments + ["--limit-rate=\(text)"])
            #expect(!outcome.errors.contains(" 0,"), "no rate is 0")
            #expect(outcome.status == .usage && outcome.errors.contains("such as 08:00-18:00=1M"), "\(outcome.errors)")
        }
    }

    @Test(
        "set changes the limit of what runs, and of nothing that starts later", arguments: ["total-rate", "limit-rate"])
    func changed(name: String) async throws {
        let content = Content(length: 3_000_000, seed: 2)
        let server = try await home.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        // It would take a quarter of an hour.
        let get = ["get", server.url(), "-o", home["out"], "--\(name)", "3k", "--stall-timeout", "1h"]
        let slow = Task { await home.run(get) }
        try await wait { home.has("store/store.sqlite") && server.requests.count == 1 }
        let set = await home.run("set", "--\(name)", "100M")
        let what = name == "total-rate" ? "all downloads of a process together" : "each download"
        #expect(set.status == .success)
        #expect(set.errors == "at most 100.0 MiB/s for \(what); 1 job is running\n")
        #expect(await slow.value.status == .success)
        #expect(content.matches(try home.bytes("out")))
        let later = await home.run("set", "--\(name)", "1")
        #expect(later.status == .success && later.errors.hasPrefix("no job is running with this store"))
        await home.run("get", server.url("/b"), "-o", home["b"]).expect(.success)
        #expect(try home.bytes("store/\(name)") == Array("1".utf8))
        await home.run("set", "--limit-rate", "none", "--total-rate", "none").expect(.success)
        await home.run("set").expect(.usage)
        let missing = await home.run(["set", "--limit-rate", "1M"], environment: ["RESUMECTL_STORE": home["none"]])
        #expect(missing.status == .notFound && !home.has("none"))
        await home.run("doctor").expect(.success)
    }

    @Test("The limit of another kind stays when one is set")
    func otherKind() async throws {
        let content = Content(length: 3_000_000, seed: 2)
        let server = try await home.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        let get = ["get", server.url(), "-o", home["out"], "--total-rate", "3k", "--max-time", "5"]
        let slow = Task { await home.run(get) }
        try await wait { home.has("store/store.sqlite") && server.requests.count == 1 }
        await home.run("set", "--limit-rate", "none").expect(.success)
        #expect(await slow.value.status == .tryAgain)
    }

    @Test("Limits of both kinds that are set at once both apply, and are said to, however many jobs wait")
    func bothKinds() async throws {
        let content = Content(length: 3_000_000, seed: 2)
        try await home.leavePartial()
        try await home.plantJobs(1200)
        let server = try await home.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        // It would take a quarter of an hour.
        let get = [
            "get", server.url(), "-o", home["out"], "--total-rate", "3k", "--limit-rate", "3k", "--max-time", "120",
        ]
        let slow = Task { await home.run(get) }
        try await wait { server.requests.count == 1 }
        for name in ["limit-rate", "total-rate"] {
            let set = await home.run("set", "--\(name)", "100M")
            #expect(set.status == .success && set.errors.hasSuffix("; 1 job is running\n"), "\(set.errors)")
        }
        let outcome = await slow.value
        #expect(outcome.status == .success, "\(outcome.errors)")
    }

    @Test("A limit for a time of day limits each download")
    func timeOfDay() async throws {
        let content = Content(length: 3_000_000, seed: 2)
        let server = try await home.serve { .file(Resource(content, etag: "\"v1\""), for: $0) }
        let get = ["get", server.url(), "-o", home["out"], "--limit-rate", "00:00-12:00=3k,12:00-24:00=3k"]
        await home.run(get + ["--max-time", "2"]).expect(.tryAgain, says: "--max-time")
        await home.run("resume", "--limit-rate", "00:00-00:01=1G,1G").expect(.success)
        #expect(content.matches(try home.bytes("out")))
    }

    @Test("No host has more connections than --per-host permits", arguments: [1, 2])
    func perHost(count: Int) async throws {
        let server = try await home.serve(Sample.whole)
        let urls = (1...8).map { server.url("/\($0).bin") }
        await home.run(["get", "-P", home["out"], "-j", "8", "--per-host", "\(count)"] + urls).expect(.success)
        #expect(try home.names(in: "out").count == 8)
        #expect(Set(server.requests.map(\.connection)).count <= count)
        let wrong = await home.run("get", "http://127.0.0.1:9/f", "--connections", "4", "--per-host", "2")
        #expect(wrong.status == .usage && wrong.errors.contains("--per-host must not be less than --connections"))
    }
}
