import Foundation
import OriginServer
import TestSupport
import Testing

/// L07, T41: something else in place of each folder and file of a store: seventy stores, ten commands on each.
@Suite(.timeLimit(.minutes(20)))
struct WrongKindTests {
    private static let kinds = [
        "fifo", "link to a file", "link to a folder", "dangling link", "device", "folder", "socket", "second name",
    ]

    /// Replaces a path by something of a given kind.
    private static func replace(_ path: String, by kind: String, in victim: Victim) async throws {
        try? FileManager.default.removeItem(atPath: path)
        switch kind {
        case "fifo": try await Shell.run("mkfifo", path)
        case "link to a file": try await Shell.run("ln", "-s", victim.outsideFile, path)
        case "link to a folder": try await Shell.run("ln", "-s", victim.outsideFolder, path)
        case "dangling link": try await Shell.run("ln", "-s", victim.folder["nothing"], path)
        // Only root creates devices. Without one the store's folder must still be refused.
        case "device": try await Shell.run("mknod", path, "c", "1", "5")
        case "folder": try await Shell.run("mkdir", path)
        case "second name": try await Shell.run("ln", victim.outsideFile, path)
        default:
            // The path of a socket is limited to about a hundred bytes, but not when it is renamed.
            let short = victim.folder["s"]
            try bind(short)
            try #require(rename(short, path) == 0)
        }
    }

    private static func bind(_ path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    private static func run(_ name: String, _ expected: Expected, kinds: [String]) async throws {
        let kinds = kinds.filter { $0 != "device" || Shell.isRoot }
        try await Victim.each(kinds, expected) { victim, kind in
            let path =
                name == "blob" ? try await victim.blob() : name.isEmpty ? victim.store : "\(victim.store)/\(name)"
            try await replace(path, by: kind, in: victim)
        }
    }

    @Test(
        "Nothing is followed, waited for or written to, and each command reports it",
        arguments: [
            "", "blobs", "store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal", "lock",
            "leases", "waiters", "queues", "paused",
        ])
    func refused(name: String) async throws {
        // A folder is right if one belongs there.
        let isFolder = name.isEmpty || name == "blobs"
        try await Self.run(name, .refused, kinds: Self.kinds.filter { !isFolder || $0 != "folder" })
    }

    @Test("An empty folder is no store, and an empty blobs folder loses the stored bytes")
    func emptyFolders() async throws {
        try await Victim.with { victim in
            try await Self.replace(victim.store, by: "folder", in: victim)
            for command in [
                ["list"], ["show", "a"], ["stats"], ["log"], ["verify"], ["gc"], ["pin", "a"], ["purge", "a"],
            ] {
                let outcome = try await victim.run(command)
                // For these, a store that does not exist yet is empty.
                let isRead = ["list", "stats", "log", "gc"].contains(command[0])
                #expect(outcome.status == (isRead ? 0 : 66), "\(command) \(outcome.errors)")
            }
            #expect(try Files.names(in: victim.store).isEmpty, "nothing makes a store by looking")
        }
        try await Victim.each(["empty"], .found) { victim, _ in
            try await Self.replace("\(victim.store)/blobs", by: "folder", in: victim)
        }
        try await Victim.each(["none"], .found) { victim, _ in
            try FileManager.default.removeItem(atPath: "\(victim.store)/blobs")
        }
    }

    @Test("A reserve that is not the store's own file is neither written to nor removed")
    func reserve() async throws {
        try await Self.run("reserve", .told, kinds: Self.kinds)
        try await Victim.each(["second name"], .told) { victim, _ in
            try FileManager.default.removeItem(atPath: "\(victim.store)/reserve")
            try await Shell.run("ln", victim.outsideFile, "\(victim.store)/reserve")
        }
        try await Victim.with { victim in
            let path = "\(victim.store)/reserve"
            for kind in Self.kinds where kind != "device" || Shell.isRoot {
                try await Self.replace(path, by: kind, in: victim)
                let before = Victim.kind(path)
                #expect(try await victim.run(["gc"]).status == 0)
                #expect(Victim.kind(path) == before, "\(kind)")
            }
        }
    }

    @Test("An object in place of a blob is not read, written or followed; its download restarts")
    func blob() async throws {
        try await Self.run("blob", .found, kinds: Self.kinds)
    }

    @Test("A folder in place of a blob stays, and its entry can be purged")
    func folderForBlob() async throws {
        try await Victim.with { victim in
            let path = try await victim.blob()
            try await Self.replace(path, by: "folder", in: victim)
            try Files.write([1], to: "\(path)/theirs")
            let purge = try await victim.run(["purge", "a"])
            #expect(purge.status == 0, "\(purge.errors)")
            #expect(Files.exists("\(path)/theirs"))
        }
    }
}
