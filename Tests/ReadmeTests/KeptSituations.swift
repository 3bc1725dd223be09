import Foundation
import OriginServer
@testable import ResumeCommands
import TestSupport
import Testing

/// The lines of `docs/kept.md` as tests.
extension KeptStage {
    typealias Situation = @Sendable (KeptStage) async throws -> KeptFate

    static let situations = [answers, ranges, commands, names].reduce(into: [String: Situation]()) {
        $0.merge($1) { $1 }
    }

    private static let page = "<!DOCTYPE html><html>Please log in</html>"

    private static func page(_ fields: [(String, String)] = []) -> Response {
        .status("200 OK", fields: [("Content-Type", "text/html")] + fields, body: Array(page.utf8))
    }

    /// What the server answers.
    private static let answers: [String: Situation] = [
        "The connection is cut": { stage in
            try await stage.after(.tryAgain) { .file(resource, for: $0, cutAfter: 50_000) }
        },
        "An error that may pass (503)": { stage in
            try await stage.after(.tryAgain) { _ in .status("503 Service Unavailable") }
        },
        "The file is not there (404)": { stage in
            try await stage.after(.refused) { _ in .status("404 Not Found") }
        },
        "A page in place of the file": { stage in try await stage.after(.tryAgain) { _ in page() } },
        "The known ETag with another length": { stage in
            try await stage.after(.tryAgain) { _ in
                .status("200 OK", fields: [("ETag", "\"v1\""), ("Content-Type", "application/zip")], body: [1, 2, 3])
            }
        },
        "Nothing, with status 200": { stage in
            try await stage.after(.tryAgain) { _ in .status("200 OK", fields: [("Content-Type", "application/zip")]) }
        },
        "Less than half of the file, without a validator, whether or not the stored file has one": { stage in
            let short = file(Content(length: 90_000, seed: 9), nil)
            return try await stage.after(.tryAgain) { request in
                var short = short
                short.ignoresRange = true
                return .file(short, for: request)
            }
        },
        "A new version, and the connection is cut": { stage in
            try await stage.after(.tryAgain) { .file(changed, for: $0, cutAfter: 80_000) }
        },
        "A new version, complete": { stage in
            stage.server.setHandler { .file(changed, for: $0) }
            #expect(await stage.get() == .success, "\(stage.transcript)")
            #expect(new.matches(try Files.bytes(stage.output)))
            return try await stage.held() == 0 ? .replaced : .kept
        },
        "A page, with `--restart`": { stage in
            stage.server.setHandler { _ in page() }
            #expect(await stage.get("--restart") == .success, "\(stage.transcript)")
            #expect(try Files.bytes(stage.output) == Array(page.utf8))
            return try await stage.held() == 0 ? .replaced : .kept
        },
    ]

    /// How the server handles ranges, and whom it answers.
    private static let ranges: [String: Situation] = [
        "Ranges are refused, the whole file is sent": { stage in
            stage.server.setHandler { request in
                request.field("Range") == nil ? .file(resource, for: request) : .status("403 Forbidden")
            }
            #expect(await stage.get() == .success, "\(stage.transcript)")
            return old.matches(try Files.bytes(stage.output)) ? .kept : .removed
        },
        "Only closed ranges are served": { stage in
            stage.server.setHandler { request in
                request.field("Range")?.hasSuffix("-") == true
                    ? .status("416 Range Not Satisfiable") : .file(resource, for: request)
            }
            #expect(await stage.get() == .success, "\(stage.transcript)")
            return old.matches(try Files.bytes(stage.output)) ? .kept : .removed
        },
        "Another caller asks, with another token": { stage in
            stage.server.setHandler { .file(resource, for: $0) }
            _ = await stage.run("get", stage.url + "?token=2", "-o", stage.output + "-2")
            #expect(old.matches(try Files.bytes(stage.output + "-2")), "\(stage.transcript)")
            return try await stage.fate()
        },
        "The digest that is named is wrong": { stage in
            stage.server.setHandler { .file(resource, for: $0) }
            #expect(await stage.get("--sha256", String(repeating: "0", count: 64)) == .refused)
            #expect(!Files.exists(stage.output))
            return try await stage.fate()
        },
        "All bytes are there, and the digest that is named is right": { stage in
            stage.server.setHandler { .file(resource, for: $0) }
            #expect(await stage.get() == .success)
            return try await stage.held() == 0 ? .removed : .kept
        },
    ]

    /// What the user asks for.
    private static let commands: [String: Situation] = [
        "`cancel` or `forget` names the download": { stage in
            #expect(await stage.run("cancel", stage.url) == .success)
            #expect(await stage.run("forget", stage.url) == .success)
            return try await stage.fate()
        },
        "`purge` names the download": { stage in
            #expect(await stage.run("purge", stage.url) == .success)
            return try await stage.held() == 0 ? .removed : .kept
        },
        "`gc` with a smaller limit": { stage in
            #expect(await stage.run("gc", "--max-size", "1000") == .success)
            return try await stage.held() == 0 ? .removed : .kept
        },
        "`gc --stale`, and the download is of today": { stage in
            #expect(await stage.run("gc", "--stale") == .success)
            return try await stage.fate()
        },
        "`get` of another file that exceeds `--store-max-size`": { stage in
            stage.server.setHandler { .file(resource, for: $0) }
            let status = await stage.run(
                "get", stage.server.baseURL + "/other.zip", "-o", stage.output + "-other", "--store-max-size", "250000",
                "--retries", "0")
            #expect(status != .success)
            return try await stage.fate()
        },
    ]
}
