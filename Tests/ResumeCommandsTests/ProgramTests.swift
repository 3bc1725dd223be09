import Foundation
import OriginServer
@testable import ResumeCommands
import Testing

/// `--on-complete` and `--auth-command`.
@Suite(.timeLimit(.minutes(20)))
struct ProgramTests {
    private let home = Home()

    private func script(_ name: String, _ text: String) throws -> String {
        try home.write("#!/bin/sh\n\(text)\n".utf8, to: name)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: home[name])
        return home[name]
    }

    private func text(_ name: String) throws -> String { String(decoding: try home.bytes(name), as: UTF8.self) }

    @Test("--on-complete runs for each file that was delivered, without a shell, and its output is not that of get")
    func completion() async throws {
        let program = try script(
            "done", "echo \"$1|$2|$RESUMECTL_URL|$(cat \"$RESUMECTL_PATH\" | wc -c)\" >> \(home["log"]); echo talk")
        let server = try await home.serve(Sample.whole)
        let urls = [server.url("/$(touch x);a.bin"), server.url("/b.bin")]
        let get = ["get", "-P", home["out"], "--on-complete", "\(program) one $HOME"] + urls
        let outcome = await home.run(get)
        #expect(outcome.status == .success && outcome.lines.count == 2, "\(outcome.errors)")
        let lines = try text("log").split(separator: "\n").sorted()
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("one|$HOME|http") && $0.hasSuffix("|300000") })
        // It does not run for a file that is there already.
        await home.run(get).expect(.success)
        #expect(try text("log").split(separator: "\n").count == 2)
        let shell = "echo \"$RESUMECTL_PATH\" > \(home["shell"])"
        let last = await home.run("get", server.url("/c.bin"), "-o", home["c.bin"], "--shell", "--on-complete", shell)
        #expect(last.status == .success, "\(last.errors)")
        #expect(try text("shell") == home["c.bin"] + "\n")
    }

    private static let commands: [(String, String)] = [
        ("% one", "one|FILE|"), ("%", "FILE||"), ("% {} two", "FILE|two|"), ("% --file={} two", "--file=FILE|two|"),
        ("% $RESUMECTL_PATH", "$RESUMECTL_PATH||"),
    ]

    @Test("The path is appended to --on-complete, unless the command has a place for it", arguments: commands)
    func path(command: String, arguments: String) async throws {
        let program = try script("done", "echo \"$1|$2|$3\" >> \(home["log"])")
        let server = try await home.serve(Sample.whole)
        let file = home["a $(touch x);b.bin"]
        let text = command.replacing("%", with: program)
        await home.run("get", server.url(), "-o", file, "--on-complete", text).expect(.success)
        #expect(try self.text("log") == arguments.replacing("FILE", with: file) + "\n")
    }

    @Test("A shell gets the path as an argument, and the file never becomes a program")
    func pathInShell() async throws {
        let server = try await home.serve(Sample.whole)
        let shell = "echo \"$1\" > '\(home["log"])'"
        let file = home["$(touch x);b.bin"]
        await home.run("get", server.url(), "-o", file, "--shell", "--on-complete", shell).expect(.success)
        #expect(try text("log") == file + "\n")
        // A script that the server sends is not run by the braces.
        let harmful = try await home.serve { _ in .status("200 OK", body: Array("#!/bin/sh\ntouch /harmed\n".utf8)) }
        await home.run("get", harmful.url(), "-o", home["s"], "--on-complete", "{}")
            .expect(.refused, says: "--on-complete cannot be run")
    }

    @Test("A program inherits the standard streams and no other descriptor", .enabled(if: Self.listsDescriptors))
    func descriptors() async throws {
        // As sockets and epoll descriptors of libraries, it is not opened with O_CLOEXEC.
        let inheritable = open("/dev/null", O_RDONLY)
        defer { close(inheritable) }
        let shell = "ls /proc/$$/fd > \(home["fds"])"
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url("/a.bin"), "-o", home["a.bin"], "--shell", "--on-complete", shell]
        await home.run(get).expect(.success)
        // A shell uses 10 for its own redirections.
        #expect(Set(try text("fds").split(separator: "\n")).subtracting(["10"]) == ["0", "1", "2"])
    }

    private static let listsDescriptors = FileManager.default.fileExists(atPath: "/proc/self/fd")

    @Test("If the program fails, the file is complete and the exit status is 1")
    func failedCompletion() async throws {
        try await OriginServer.withServer(handler: Sample.whole) { server async throws in
            let get = ["get", server.url(), "-o", home["out"], "--json", "--on-complete"]
            for (program, message) in [
                (try script("bad", "exit 3"), "failed with exit status 3"), (home["no"], "cannot be run"),
            ] {
                let outcome = await home.run(get + [program, "--restart"])
                    .expect(.refused, says: "\(home["out"]) is complete, but --on-complete \(message)")
                #expect(try outcome.events.suffix(2) == ["finished", "failed"])
                #expect(try outcome.json.last?["reason"]?.string == "on-complete-failed")
                #expect(try await home.run("jobs", "--json").object["state"]?.string == "failed")
            }
        }
        try await OriginServer.withServer(handler: Sample.whole) { server async throws in
            // The file is there; only the program runs, with get and with resume.
            await home.run("forget", "--all").expect(.success)
            let get = ["get", server.url("/g"), "-o", home["g"], "--on-complete"]
            for next in [get, ["resume", "--on-complete"]] {
                await home.run(get + ["false", "--restart"]).expect(.refused)
                let count = server.bodyBytesSent
                await home.run("resume").expect(says: "needs --on-complete")
                let again = await home.run(next + ["touch \(home["ran"])"])
                #expect(again.status == .success && home.has("ran"), "\(again.errors)")
                #expect(server.bodyBytesSent == count)
                #expect(await home.run("jobs").output.isEmpty)
                try FileManager.default.removeItem(atPath: home["ran"])
            }
        }
        let output = await home.run("get", "http://127.0.0.1:9/f", "-o", "-", "--on-complete", "true")
        #expect(output.status == .usage && output.errors.contains("cannot be combined with --output -"))
    }

    @Test("A program that failed runs in the next run that finds the file, whatever fails in between")
    func completionAfterFailure() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out"], "--retries", "0", "--on-complete"]
        await home.run(get + ["false"]).expect(.refused)
        for (answer, status) in [("503 Unavailable", ExitStatus.tryAgain), ("404 Not Found", .refused)] {
            server.setHandler { _ in .status(answer) }
            for again in [get, ["resume", "--on-complete"]] {
                let failed = await home.run(again + ["touch \(home["ran"])"])
                #expect(failed.status == status && !home.has("ran"), "\(failed.errors)")
                await home.run("jobs").expect(prints: String(answer.prefix(3)))
            }
        }
        server.setHandler(Sample.whole)
        let last = await home.run(get + ["touch \(home["ran"])"])
        #expect(last.status == .success && home.has("ran"), "\(last.errors)")
        #expect(await home.run("jobs").output.isEmpty)
    }

    @Test("A program that failed runs with --skip-existing, too, but not for other files that exist")
    func completionOfExisting() async throws {
        let server = try await home.serve(Sample.whole)
        let get = ["get", "-P", home.path, server.url("/a"), "--on-complete"]
        await home.run(get + ["false"]).expect(.refused)
        try home.write("other".utf8, to: "b")
        let program = try script("done", "echo \"$RESUMECTL_PATH\" >> \(home["log"])")
        for _ in 1...2 {
            let again = await home.run(get + [program, "--skip-existing", server.url("/b")], width: 100)
            #expect(again.status == .success && server.requests.count == 1, "\(again.errors)")
            #expect(try text("log") == home["a"] + "\n")
            #expect(again.errors.contains("2 of 2 files"), "\(again.errors)")
        }
    }

    /// Requires a user and a password, of which the second is valid from the second request on.
    private static let protected: @Sendable (OriginRequest) -> Response = { request in
        let isRight = request.field("Authorization") == "Basic bWU6aHVudGVyMg=="
        return isRight ? .file(Sample.resource, for: request) : .status("401 Unauthorized")
    }

    @Test("--auth-command answers like git's helpers, once for each server", arguments: ["git", "field"])
    func credentials(kind: String) async throws {
        let output = kind == "git" ? "username=me\\npassword=hunter2\\n" : "Authorization: Basic bWU6aHVudGVyMg==\\n"
        let server = try await home.serve(Self.protected)
        let helper = try script("helper", "cat >> \(home["input"]); printf '\(output)'")
        let urls = (1...3).map { server.url("/dir/\($0).bin") }
        await home.run(["get", "-P", home["out"], "--auth-command", "\(helper) get"] + urls).expect(.success)
        #expect(try home.names(in: "out").count == 3 && server.requests.count == 3)
        let input = try text("input")
        #expect(input.hasPrefix("protocol=http\nhost=127.0.0.1:\(server.port)\npath=dir/") && input.hasSuffix("\n\n"))
        #expect(input.split(separator: "\n").count == 3, "it runs once")
        #expect(!home.transcript.contains("hunter2"))
        #expect(try home.storedBytes().firstRange(of: Array("hunter2".utf8)) == nil)
    }

    @Test("If the server refuses what it prints, it is asked again")
    func refusedCredentials() async throws {
        let server = try await home.serve(Self.protected)
        let helper = try script(
            "helper",
            "echo username=me; test -n \"$RESUMECTL_STATUS\" && echo password=hunter2 || echo password=old")
        let outcome = await home.run("get", server.url(), "-o", home["out"], "--auth-command", helper)
        #expect(outcome.status == .success && server.requests.count == 2, "\(outcome.errors)")
    }

    @Test(
        "A helper that does not end is ended after the time of --max-time",
        arguments: [
            "trap '' TERM; while :; do sleep 1; done", "exec 1>&-; trap '' TERM; while :; do sleep 1; done",
            "trap '' TERM PIPE; while :; do echo x; done",
        ])
    func endlessHelpers(text: String) async throws {
        let server = try await home.serve(Self.protected)
        let helper = try script("helper", "echo $$ > \(home["number"]); \(text)")
        let get = ["get", server.url(), "-o", home["out"], "--auth-command", helper]
        let (outcome, _) = await home.runLimited(get) { _ in home.has("number") }
        #expect([.tryAgain, .refused].contains(outcome.status), "\(outcome.errors)")
        #expect(server.requests.isEmpty)
        let number = try #require(pid_t(try self.text("number").dropLast()))
        #expect(kill(number, 0) == -1 && errno == ESRCH)
    }

    @Test("A helper need not read its input, however long that is")
    func unreadInput() async throws {
        let server = try await home.serve(Self.protected)
        let helper = try script("helper", "exec 0<&-; echo username=me; echo password=hunter2")
        let slow = try script("slow", "sleep 0.3; echo username=me; echo password=hunter2")
        for program in [helper, slow] {
            await home.run(
                "get", server.url("/\(String(repeating: "a", count: 60_000))/f"), "-o", home["out"], "--restart",
                "--auth-command", program
            ).expect(.success)
        }
    }

    @Test("What fails or prints something else is an error that does not show it")
    func wrongHelpers() async throws {
        let server = try await home.serve(Self.protected)
        for (text, message) in [
            ("echo hunter2", "line 1 of the output of --auth-command is neither"),
            ("exit 4", "--auth-command failed with exit status 4"), ("echo Range: bytes=0-", "is neither"),
        ] {
            let helper = try script("helper", text)
            await home.run("get", server.url(), "-o", home["out"], "--auth-command", helper)
                .expect(.refused, says: message, hides: "hunter2")
        }
        #expect(server.requests.isEmpty)
        // The job is continued by the right one.
        let helper = try script("helper", "echo username=me; echo password=hunter2")
        let resume = await home.run("resume", "--auth-command", helper)
        #expect(resume.status == .success && home.has("out"), "\(resume.errors)")
    }
}
