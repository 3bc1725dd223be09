import Foundation
import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import TestSupport
import Testing

/// The lines of `docs/kept.md` about the file that has the name of the destination.
extension KeptStage {
    private static let mine = Array("mine".utf8)
    private static let whole = old.bytes(in: 0..<300_000)
    private static let digest = HTTPDigest(.sha256, of: whole)?.hexadecimal ?? ""

    static let names: [String: Situation] = [
        "A file that this program has not delivered": { stage in
            try await stage.over(mine, .cannotCreate, serving: resource)
        },
        "The same, with `--overwrite`": { stage in
            try await stage.over(mine, .success, ["--overwrite"], serving: resource)
        },
        "The same, with `--auto-rename`": { stage in
            try await stage.over(mine, .success, ["--auto-rename"], serving: resource)
        },
        "The same, and `-o` names it": { stage in
            try await stage.over(mine, .success, ["-o", stage.output], serving: resource)
        },
        "It has the bytes that the server sends": { stage in
            try await stage.over(whole, .success, serving: resource)
        },
        "It has the digest that is named": { stage in
            let before = stage.server.requests.count
            let fate = try await stage.over(whole, .success, ["--sha256", digest], serving: resource)
            #expect(stage.server.requests.count == before)
            return fate
        },
        "It has as many bytes as the server's file, and others": { stage in
            var other = whole
            other[5] ^= 1
            return try await stage.over(other, .cannotCreate, serving: resource)
        },
        "A file that was delivered, and a new version": { stage in
            #expect(try await stage.over([], .success, ["--overwrite"], serving: resource) == .replaced)
            return try await stage.over(nil, .success, serving: changed)
        },
        "A file that was delivered and edited since": { stage in
            #expect(try await stage.over([], .success, ["--overwrite"], serving: resource) == .replaced)
            return try await stage.over(mine, .cannotCreate, serving: changed)
        },
    ]
}
