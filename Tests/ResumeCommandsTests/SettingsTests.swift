import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// Defaults in a file and in the environment.
@Suite(.timeLimit(.minutes(20)))
struct SettingsTests {
    private let home = Home()

    private static let url = "http://127.0.0.1:9/f"

    /// The environment with a configuration file.
    private func environment(_ file: String? = nil, _ variables: [String: String] = [:]) throws -> [String: String] {
        if let file {
            try home.makeFolder("config/resumectl")
            try home.write(file.utf8, to: "config/resumectl/config")
        }
        return ["HOME": home.path, "XDG_CONFIG_HOME": home["config"], "RESUMECTL_STORE": home.store]
            .merging(variables) { $1 }
    }

    @Test("Arguments take precedence over the environment, and that over the file")
    func precedence() async throws {
        let file = "# defaults\n\n  directory = \"\(home["file"])\"\nquiet\n--retries=0\n"
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url()]
        let first = await home.run(get, environment: try environment(file))
        #expect(first.status == .success && first.errors.isEmpty && home.has("file/file.bin"), "\(first.errors)")
        let variables = ["RESUMECTL_DIRECTORY": home["variable"], "RESUMECTL_QUIET": "no"]
        let second = await home.run(get, environment: try environment(file, variables))
        #expect(second.status == .success && !second.errors.isEmpty && home.has("variable/file.bin"))
        let third = await home.run(get + ["-P", home["argument"]], environment: try environment(file, variables))
        #expect(third.status == .success && home.has("argument/file.bin"))
        // A default that cannot be combined with an option is left out.
        let fourth = await home.run(get + ["-o", home["absolute"]], environment: try environment(file))
        #expect(fourth.status == .success && home.has("absolute"), "\(fourth.errors)")
        // Other commands are not concerned.
        await home.run(["list"], environment: try environment(file)).expect(.success)
        await home.run(["log", "-n", "1"], environment: try environment(file)).expect(.success)
    }

    @Test("Help, the version and completions need no settings; a folder is none")
    func broken() async throws {
        for file in ["bogus = 1", "retries = many"] {
            for arguments in [
                ["--help"], ["--version"], ["help", "get"], ["get", "-h"], ["resume", "--help-hidden"],
                ["get", "--version"],
                ["completions", "bash"],
            ] {
                let outcome = await home.run(arguments, environment: try environment(file))
                #expect(outcome.status == .success && !outcome.output.isEmpty, "\(arguments) \(outcome.errors)")
            }
        }
        let folder = await home.run(["list"], environment: try environment(nil, ["RESUMECTL_CONFIG": home.path]))
        #expect(folder.status == .notFound && folder.errors.contains("it is a folder"), "\(folder.errors)")
    }

    @Test("The store, paths in the home folder, and a file that is named")
    func paths() async throws {
        try home.write("store = ~/other\n".utf8, to: "named")
        var variables = try environment()
        variables["RESUMECTL_CONFIG"] = home["named"]
        #expect(
            await home.run(["config"], environment: variables).output.contains(
                "store = \(home.store)  [RESUMECTL_STORE]"))
        variables["RESUMECTL_STORE"] = nil
        let config = await home.run(["config"], environment: variables)
        let isSet = config.lines.filter { !$0.hasSuffix("  [default]") }
        #expect(isSet == ["store = \(home["other"])  [\(home["named"]), line 1]"], "\(config.output)")
        let given = await home.run(["config", "--store", home["given"]], environment: variables)
        #expect(given.output.contains("store = \(home["given"])  [--store]\n"), "\(given.output)")
        let get = await home.run(["get", Self.url, "--retries", "0", "-o", home["out"]], environment: variables)
        #expect(get.status == .tryAgain && home.has("other/store.sqlite"))
        variables["RESUMECTL_CONFIG"] = home["none"]
        await home.run(["list"], environment: variables).expect(.notFound, says: "RESUMECTL_CONFIG: cannot read")
        variables["RESUMECTL_CONFIG"] = ""
        let store = await home.run(["config"], environment: variables).lines.first { $0.hasPrefix("store = ") }
        #expect(store?.hasSuffix("/.cache/resumectl  [default]") == true)
    }

    @Test("Settings are read from a pipe to its end")
    func inParts() async throws {
        _ = try await Shell.run("mkfifo", "-m", "600", home["pipe"])
        var variables = try environment()
        variables["RESUMECTL_CONFIG"] = home["pipe"]
        let parts = "(echo limit-rate = 1k; sleep 0.3; echo limit-rat = 1k) > '\(home["pipe"])'"
        async let writer = Shell.run("sh", "-c", parts)
        let outcome = await home.run(["get", Self.url], environment: variables)
        _ = try? await writer
        #expect(outcome.status == .usage && outcome.errors.contains("line 2: "), "\(outcome.errors)")
    }

    private static let wrong = [
        ("limit-rat = 1M", "there is no option 'limit-rat'; did you mean 'limit-rate'?"),
        ("\n\nlimit-rate = fast", "line 3: "), ("limit-rate = fast", "such as 500k"),
        ("limit-rate", "limit-rate requires a value"), ("quiet = perhaps", "quiet is true or false"),
        ("user = me:word", "cannot be set here"), ("header = A: b", "cannot be set here"),
        ("output = f", "cannot be set here"), ("p\u{1B}ass = hunter2", "there is no option of this name"),
        ("max-concurrent = 99", "--max-concurrent must be between 1 and 64"), ("= 5", "there is no option"),
    ]

    @Test("An error names the file and the line, or the variable", arguments: wrong)
    func errors(text: String, message: String) async throws {
        let outcome = await home.run(["get", Self.url], environment: try environment(text))
        #expect(outcome.status == .usage && outcome.errors.contains(message), "\(outcome.errors)")
        #expect(outcome.errors.hasPrefix("resumectl: \(home["config/resumectl/config"]), line "), "\(outcome.errors)")
        #expect(!outcome.errors.contains("hunter2") && !home.has("store"))
    }

    @Test("So does one in a variable; those of programs that get runs are no options")
    func variables() async throws {
        let wrong = await home.run(["get", Self.url], environment: try environment(nil, ["RESUMECTL_RETRIES": "many"]))
        #expect(wrong.status == .usage && wrong.errors.hasPrefix("resumectl: RESUMECTL_RETRIES: "), "\(wrong.errors)")
        let others = ["RESUMECTL_KEY": "k", "RESUMECTL_URL": "u", "RESUMECTL_STATUS": "403"]
        await home.run(["list"], environment: try environment(nil, others)).expect(.success)
    }

    @Test("The limits of the store are those of the file, also for gc")
    func storeLimits() async throws {
        try await home.leavePartial()
        let environment = try environment("store-max-size = 1k\nstore-max-age = 1w\n")
        await home.run(["gc", "--dry-run"], environment: environment).expect(.success, prints: "195.3 KiB")
        #expect(await home.run("gc", "--dry-run").output.contains("195.3 KiB") == false)
        let quiet = await home.run(["gc", "-q"], environment: environment)
        #expect(quiet.status == .success && quiet.output.isEmpty && quiet.errors.isEmpty)
        #expect(await home.run("list").output.isEmpty)
    }

    @Test("Header fields are read from a file, and paths are printed if that is asked for")
    func fieldsAndPaths() async throws {
        let server = try await home.serve(Sample.whole)
        try home.write("# a comment\nAuthorization: Bearer hunter2\nX-A: b\n".utf8, to: "fields")
        let got = await home.run(
            "get", "-q", "-H", "@\(home["fields"])", "--print", "path", server.url(), "-o", home["out"])
        #expect(got.status == .success && got.output == "\(home["out"])\n", "\(got.errors)")
        #expect(server.requests.first?.field("Authorization") == "Bearer hunter2")
        #expect(server.requests.first?.field("X-A") == "b")
        #expect(try home.storedBytes().firstRange(of: Array("hunter2".utf8)) == nil)
        for (argument, message) in [("@\(home["no"])", "cannot read"), ("@-", "requires a file")] {
            await home.run("get", "-H", argument, server.url()).expect(.usage, says: message)
        }
    }

    @Test("A file that others can change is refused, since it may name programs")
    func permissions() async throws {
        let variables = try environment("quiet\n")
        try await Shell.run("chmod", "666", home["config/resumectl/config"])
        await home.run(["get", Self.url], environment: variables)
            .expect(.usage, says: "belongs to another user or can be changed by others")
    }

    @Test("config shows what counts and where it is set, also what is not set, without passwords")
    func config() async throws {
        let file =
            "limit-rate = 1M\nlimit-rate = 2M\nproxy = http://me:hunter2@proxy:3128\nrenew-command = prog tok3n\nnetrc"
        let variables = try environment(file, ["RESUMECTL_RETRIES": "7"])
        let path = home["config/resumectl/config"]
        let text = await home.run(["config"], environment: variables)
        #expect(
            text.lines == [
                "condition = if-range  [default]", "connect-timeout = 30s  [default]", "connections = 1  [default]",
                "input-format = auto  [default]", "limit-rate = 2M  [\(path), line 2]",
                "max-concurrent = 4  [default]", "max-redirs = 20  [default]",
                "netrc = true  [\(path), line 5]",
                "progress = bar  [default]", "proxy = http://proxy:3128  [\(path), line 3]",
                "renew-command = prog …  [\(path), line 4]",
                "retries = 7  [RESUMECTL_RETRIES]", "retry-time = 15m  [default]", "stall-timeout = 30s  [default]",
                "store = \(home.store)  [RESUMECTL_STORE]", "store-max-age = 30d  [default]",
                "store-max-size = 16GiB  [default]",
            ], "\(text.output)")
        let json = try await home.run(["config", "--json"], environment: variables).json
        #expect(json.compactMap { $0["name"]?.string }.count == 17)
        let rate = json.first { $0["name"]?.string == "limit-rate" }
        #expect(rate?["value"]?.string == "2M" && rate?["source"]?.string == "\(path), line 2")
    }

    @Test("-H @FILE is read once, also if there are defaults, so that it may be a pipe")
    func fieldsFromPipe() async throws {
        let server = try await home.serve(Sample.whole)
        for retries in ["1", "many"] {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let line = Array("X-Token: t\n".utf8)
            #expect(write(ends[1], line, line.count) == line.count)
            close(ends[1])
            let get = ["get", server.url("/\(retries)"), "-P", home.path, "-H", "@/dev/fd/\(ends[0])"]
            let outcome = await home.run(get, environment: try environment(nil, ["RESUMECTL_RETRIES": retries]))
            #expect(outcome.status == (retries == "1" ? .success : .usage), "\(outcome.errors)")
        }
        #expect(server.requests.map { $0.field("X-Token") } == ["t"])
        for text in ["", "# nothing\n\n"] {
            try home.write(text.utf8, to: "empty")
            await home.run("get", Self.url, "-H", "@\(home["empty"])").expect(.usage, says: "contains no header field")
        }
    }
}
