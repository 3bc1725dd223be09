import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Where the store is, and who makes it.
@Suite(.timeLimit(.minutes(20)))
struct PlaceTests {
    private let home = Home()

    private static let looking = [
        ["show", "http://example.org/a"], ["purge", "--all"], ["purge", "key"],
        ["verify"], ["verify", "--repair"], ["pin", "key"], ["unpin", "key"],
    ]

    /// Commands that only look never make a store, nor anything in a folder that is none.
    @Test(arguments: looking)
    func noStore(arguments: [String]) async throws {
        let missing = await home.run(arguments)
        let advice = "Choose another folder with --store, or create a store with 'resumectl get'."
        #expect(missing.status == .notFound)
        #expect(missing.output.isEmpty)
        #expect(missing.errors == "resumectl: there is no store at \(home.store). \(advice)\n")
        #expect(try home.names().isEmpty)
        try home.makeFolder("store")
        await home.run(arguments).expect(.notFound)
        #expect(try home.names(in: "store").isEmpty)
        try home.makeFolder("store/blobs")
        await home.run(arguments).expect(.notFound)
        #expect(try home.names(in: "store") == ["blobs"])
    }

    @Test("Other spellings of a path are the same destination")
    func spellings() async throws {
        let server = try await home.serve(Sample.whole)
        try home.makeFolder("in")
        for path in ["in/out.bin", "in//out.bin", "./in/./out.bin", "in/.//./out.bin"] {
            await home.run("get", server.url(), "-o", home[path]).expect(.success)
            let jobs = try await home.run("jobs", "--all", "--json").json
            #expect(jobs.compactMap { $0["destination"]?.string } == [home["in/out.bin"]], "\(path)")
        }
        #expect(server.requests.dropFirst().allSatisfy { $0.field("if-none-match") == "\"v1\"" })
        let folder = await home.run("get", server.url("/out.bin"), "-P", "\(home.path)/.//in/", "--skip-existing")
        #expect(folder.status == .success && folder.lines == [home["in/out.bin"]], "\(folder.errors)")
        let two = await home.run("get", server.url("/a/x.bin"), server.url("/b//x.bin"), "-P", home["in/./"])
        #expect(
            two.status == .cannotCreate && two.errors.contains("as would \(server.url("/a/x.bin"))"), "\(two.errors)")
    }

    private static let reading = [
        ["list"], ["list", "--json"], ["ls", "--sort", "url"], ["log"], ["log", "key"], ["log", "--json"], ["stats"],
        ["stats", "--json"],
    ]

    @Test("A store that does not exist yet is empty, and is not created by commands that read", arguments: reading)
    func emptyStore(arguments: [String]) async throws {
        for folder in ["", "store", "store/blobs"] {
            if !folder.isEmpty { try home.makeFolder(folder) }
            let outcome = await home.run(arguments, outputWidth: 80).expect(.success)
            switch arguments[0] {
            case "stats":
                #expect(outcome.output.contains("0") && outcome.output.contains(home.store), "\(outcome.output)")
            case "log":
                #expect(outcome.output.isEmpty)
                let owner = arguments.contains("key") ? " of this entry" : ""
                #expect(outcome.errors == (arguments.contains("--json") ? "" : "no events\(owner) are recorded\n"))
            default:
                let isSilent = arguments.contains("--json") || outcome.errors.contains("the store is empty")
                #expect(outcome.output.isEmpty && isSilent, "\(outcome.errors)")
            }
        }
        #expect(try home.names() == ["store"] && home.names(in: "store") == ["blobs"])
        #expect(try home.names(in: "store/blobs").isEmpty)
    }

    /// The place as `doctor` names it.
    private func place(_ environment: [String: String], _ option: String? = nil) async throws -> String? {
        let arguments = ["doctor", "--json"] + (option.map { ["--store", $0] } ?? [])
        let checks = try await home.run(arguments, environment: environment).object["checks"]?.array
        return checks?.first { $0["name"]?.string == "store" }?["value"]?.string
    }

    @Test func order() async throws {
        let all = ["HOME": home["h"], "XDG_CACHE_HOME": home["x"], "RESUMECTL_STORE": home["r"]]
        #expect(try await place(all, home["o"]) == home["o"])
        #expect(try await place(all) == home["r"])
        #expect(try await place(["HOME": home["h"], "RESUMECTL_STORE": home["r"] + "/"]) == home["r"])
        #if !os(macOS)
        #expect(try await place(["HOME": home["h"], "XDG_CACHE_HOME": home["x"]]) == home["x/resumectl"])
        #expect(try await place(["HOME": home["h"]]) == home["h/.cache/resumectl"])
        // What is no absolute path is to be ignored, by the XDG specification.
        #expect(try await place(["HOME": home["h"], "XDG_CACHE_HOME": "x"]) == home["h/.cache/resumectl"])
        await home.run(["doctor"], environment: ["HOME": ""]).expect(.usage)
        for (value, text) in [("h", "HOME is not an absolute path: h."), ("", "HOME is not set.")] {
            await home.run(["doctor"], environment: ["HOME": value, "XDG_CACHE_HOME": "x"])
                .expect(.usage, says: "\(text) Choose a folder for the store with --store or RESUMECTL_STORE.")
        }
        // By bytes: a combining mark may follow the slash.
        #expect(try await place(["HOME": "/\u{301}h"]) == "/\u{301}h/.cache/resumectl")
        #expect(try await place(["HOME": home["h"], "RESUMECTL_STORE": ""]) == home["h/.cache/resumectl"])
        #endif
        #expect(try home.names().isEmpty)
    }

    @Test func madeWithItsParents() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let environment = ["HOME": home["h"], "XDG_CACHE_HOME": home["deep/er"]]
        await home.run(
            "get", server.url(), "-o", home["out.bin"], "--retries", "0", environment: environment
        ).expect(.tryAgain)
        #if !os(macOS)
        #expect(home.has("deep/er/resumectl/store.sqlite"))
        #expect(try home.mode("deep/er/resumectl") == 0o700)
        #expect(try home.mode("deep/er/resumectl/store.sqlite") == 0o600)
        #expect(!home.has("h"))
        #endif
        await home.run("list", environment: environment).expect(prints: server.url())
    }

    @Test func theOptionOfEachCommand() async throws {
        let url = try await home.leavePartial()
        let commands = [
            ["list"], ["show", url], ["log"], ["stats"], ["verify"], ["doctor"], ["gc"], ["pin", url], ["unpin", url],
            ["purge", url],
        ]
        for command in commands {
            await home.run(command + ["--store", home.store], environment: ["HOME": home["h"]]).expect(.success)
        }
        #expect(!home.has("h"))
    }

    /// A store that was made with a umask of 002; suggested commands repeat the choice.
    @Test func sharedByChoice() async throws {
        let url = try await home.leavePartial()
        try await Shell.run("chmod", "775", home.store)
        await home.run("list").expect(.damaged, says: "chmod -R go-w", "the permissions are 775, as a umask of 002")
        await home.run("list", "--store-shared").expect(.success, prints: url)
        try home.write("store-shared = true\n".utf8, to: "config")
        for (variables, status) in [
            (["RESUMECTL_CONFIG": home["config"]], ResumeCommands.ExitStatus.success),
            (["RESUMECTL_STORE_SHARED": "1"], .success),
            (["RESUMECTL_CONFIG": home["config"], "RESUMECTL_STORE_SHARED": "no"], .damaged),
        ] {
            let all = variables.merging(["RESUMECTL_STORE": home.store]) { $1 }
            await home.run(["list"], environment: all).expect(status)
            await home.run(["doctor"], environment: all).expect(status)
            let names = await home.run(["---complete", "fish", "show", ""], environment: all)
            #expect(names.output.contains(url) == (status == .success), "\(names)")
        }
        #expect(Hint.option(in: ["get", "--store-shared", "--store", "a b"]) == " --store a\\ b --store-shared")
        #expect(Hint.option(in: ["get", "--store-shared"]) == " --store-shared")
    }

    /// The mode of what is delivered is the user's ordinary one, not the store's.
    @Test func modeOfTheFile() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out.bin"]).expect(.success)
        try home.write([1], to: "ordinary")
        #expect(try home.mode("out.bin") == home.mode("ordinary"))
    }
}
