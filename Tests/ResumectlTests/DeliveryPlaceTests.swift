import FaultInjection
import Foundation
import OriginServer
import TestSupport
import Testing

/// Where people put files: file systems that cannot do everything, folders that others share, and files that only can
/// be written where they lie.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Shell.isRoot && Shell.has("setpriv"), "needs root"))
struct DeliveryPlaceTests {
    /// One length is delivered without a row of its own, the other one from a blob.
    private static let lengths: [Int64] = [16_000, 3_000_000]
    private static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    private static let group = 4242

    /// A folder, a server, and what the program is asked to do there.
    private struct Place {
        let folder: TemporaryFolder
        let server: OriginServer
        let content: [UInt8]

        var out: String { folder["place"] }

        static func with(_ length: Int64, _ body: (Place) async throws -> Void) async throws {
            let file = Resource(Content(length: length, seed: 1), etag: "\"v1\"")
            try await OriginServer.withServer(handler: { .file(file, for: $0) }) { server in
                try await TemporaryFolder.with { folder in
                    chmod(folder.path, 0o755)
                    mkdir(folder["place"], 0o755)
                    chmod(folder["place"], 0o755)
                    try await body(Place(folder: folder, server: server, content: file.bytes))
                }
            }
        }

        /// Fetches the file to a name in the place.
        func get(
            _ name: String, _ options: [String] = [], as user: [String] = [], shim: [String: String] = [:]
        ) async throws -> Shell.Outcome {
            let store = folder[user.isEmpty ? "store" : "store-of-nobody"]
            if !user.isEmpty, mkdir(store, 0o700) == 0 { chown(store, 65534, 65534) }
            let command =
                user + [
                    Resumectl.path, "get", "--store", store, "\(server.baseURL)/file.bin", "-o", "\(out)/\(name)",
                ]
            let words = command + options
            return try await Shell.outcome(
                words[0], Array(words.dropFirst()),
                environment: shim.merging(["no_proxy": "127.0.0.1"]) { $1 })
        }

        /// Whether the whole file has a name, and nothing else is left in the place.
        func has(_ name: String) throws -> Bool {
            let names = try FileManager.default.contentsOfDirectory(atPath: out)
            return try names == [name] && Files.bytes("\(out)/\(name)") == content
        }

        func status(_ name: String) -> stat {
            var status = stat()
            stat("\(out)/\(name)", &status)
            return status
        }

        static let hasExFAT = ["mkfs.exfat", "mount.exfat-fuse", "losetup"].allSatisfy { Shell.has($0) }

        /// Mounts a new exFAT on the place during a closure.
        func onExFAT(_ body: () async throws -> Void) async throws {
            let image = folder["image"]
            #expect(FileManager.default.createFile(atPath: image, contents: nil) && truncate(image, 64 << 20) == 0)
            #expect(try await Shell.outcome("mkfs.exfat", [image]).status == 0)
            let found = try await Shell.outcome("losetup", ["-f", "--show", image])
            let device = found.output.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(found.status == 0, "\(found.errors)")
            try await mounted("mount.exfat-fuse", device, out) {
                // Done when it is unmounted.
                _ = try await Shell.outcome("losetup", ["-d", device])
                try await body()
            }
        }

        /// Mounts a file system on the place during a closure.
        func mounted(_ command: String..., body: () async throws -> Void) async throws {
            let mount = try await Shell.outcome(command[0], Array(command.dropFirst()))
            #expect(mount.status == 0, "\(mount.errors)")
            do {
                try await body()
            } catch {
                _ = try await Shell.outcome("umount", ["-l", command.last ?? out])
                throw error
            }
            _ = try await Shell.outcome("umount", [command.last ?? out])
        }
    }

    @Test(
        "C1: a file system that refuses to set permissions", .enabled(if: Shell.has("bindfs"), "needs bindfs"),
        arguments: lengths)
    func permissionsRefused(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            mkdir(place.folder["real"], 0o755)
            try await place.mounted("bindfs", "--chmod-deny", place.folder["real"], place.out) {
                let outcome = try await place.get("a.bin")
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try place.has("a.bin"))
            }
        }
    }

    @Test(
        "A replaced file keeps its permissions where they cannot be set",
        .enabled(if: Shell.has("bindfs"), "needs bindfs"),
        arguments: lengths, ["--chmod-ignore", "--chmod-deny"])
    func replacedWithoutPermissions(length: Int64, option: String) async throws {
        try await Place.with(length) { place async throws in
            mkdir(place.folder["real"], 0o755)
            try await place.mounted("bindfs", option, place.folder["real"], place.out) { () async throws in
                #expect(try await place.get("a.bin").status == 0)
                #expect(try await place.get("a.bin", ["--restart"]).status == 0)
                #expect(try place.has("a.bin"))
                #expect(place.status("a.bin").st_mode & 0o777 == 0o644)
            }
        }
    }

    @Test(
        "A file system without links and exclusive renames; C12: a name that it does not have is refused at once",
        .enabled(if: Place.hasExFAT, "needs exfat-fuse"), arguments: lengths)
    func exFAT(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            try await place.onExFAT {
                let refused = try await place.get("a:b?.bin")
                #expect(refused.status != 0)
                #expect(refused.errors.contains("has no such names"), "\(refused.errors)")
                #expect(place.server.requests.isEmpty)
                let outcome = try await place.get("a.bin")
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try place.has("a.bin"))
                // The same again replaces nothing.
                #expect(try await place.get("a.bin").status == 0)
                #expect(try place.has("a.bin"))
            }
        }
    }

    @Test(
        "A list in a folder that ignores case and has no names with colons",
        .enabled(if: Place.hasExFAT, "needs exfat-fuse"), arguments: lengths)
    func listOnExFAT(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            func get(_ list: String, _ option: String = "--no-progress") async throws -> Shell.Outcome {
                let text = list.replacing("URL", with: "\(place.server.baseURL)")
                try Files.write(Array(text.utf8), to: place.folder["list"])
                return try await Resumectl(folder: place.folder)
                    .run("get", "-j", "1", "-i", place.folder["list"], "-P", place.out, option)
            }
            try await place.onExFAT {
                for list in ["URL/readme\nURL/2/README\n", "URL/f\n dir=Pool\nURL/2/f\n dir=pool\n"] {
                    for _ in 1...2 {
                        let clash = try await get(list, "--overwrite")
                        #expect(clash.status == 73 && clash.errors.contains(", as would "), "\(clash.errors)")
                    }
                    let renamed = try await get(list, "--auto-rename")
                    #expect(renamed.status == 0, "\(renamed.errors)")
                }
                let colon = try await get("URL/one\nURL/a%3Ab\n")
                #expect(colon.status == 73, "\(colon.errors)")
                #expect(colon.errors.contains("choose another one. In a list, it follows a tab"), "\(colon.errors)")
                #expect(!place.server.requests.contains { $0.path.hasPrefix("/a") })
                let names = try FileManager.default.contentsOfDirectory(atPath: place.out)
                #expect(Set(names) == ["Pool", "readme.1", "one", "readme"], "\(names)")
            }
        }
    }

    @Test("C2: a file that is mounted is written where it lies", arguments: lengths)
    func mountedFile(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let real = place.folder["real"]
            try Files.write([1, 2, 3], to: real)
            try Files.write([], to: "\(place.out)/a.bin")
            try await place.mounted("mount", "--bind", real, "\(place.out)/a.bin") {
                let outcome = try await place.get("a.bin")
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try place.has("a.bin"))
                #expect(try Files.bytes(real) == place.content)
                // It is this program's from now on.
                #expect(try await place.get("a.bin").status == 0)
            }
        }
    }

    @Test("A file that is there is skipped where nothing can be written")
    func skippedReadOnly() async throws {
        try await Place.with(16_000) { place async throws in
            let real = place.folder["real"]
            mkdir(real, 0o755)
            try Files.write([1], to: "\(real)/a.bin")
            try await place.mounted("mount", "--bind", real, place.out) { () async throws in
                #expect(try await Shell.outcome("mount", ["-o", "remount,bind,ro", place.out]).status == 0)
                let skipped = try await place.get("a.bin", ["--skip-existing"])
                #expect(skipped.status == 0, "\(skipped.errors)")
                #expect(try await place.get("b.bin", ["--skip-existing"]).status == 73)
                #expect(try await place.get("a.bin").status == 73)
                #expect(place.server.requests.isEmpty)
            }
        }
    }

    @Test("Killed at any call on a mounted file: the next run writes it again, from what is stored", arguments: lengths)
    func killedInPlace(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let real = place.folder["real"]
            try Files.write([1, 2, 3], to: real)
            try Files.write([], to: "\(place.out)/a.bin")
            try await place.mounted("mount", "--bind", real, "\(place.out)/a.bin") { () async throws in
                var kills = 0
                while kills < 100 {
                    try Files.write([1, 2, 3], to: real)
                    try? FileManager.default.removeItem(atPath: place.folder["store"])
                    let rules = "*@a.bin:kill:\(kills + 1)"
                    let shim = try await FaultShim.environment(roots: [place.out], rules: rules)
                    if try await place.get("a.bin", shim: shim).status == 0 { break }
                    kills += 1
                    let bytes = try Files.bytes(real)
                    let requests = place.server.requests.count
                    let next = try await place.get("a.bin")
                    #expect(next.status == 0, "call \(kills): \(next.errors)")
                    #expect(try place.has("a.bin"), "call \(kills)")
                    // Once the old bytes are touched, the store has all the new ones.
                    if bytes != [1, 2, 3] { #expect(place.server.requests.count == requests, "call \(kills)") }
                }
                #expect(kills >= 3 && kills < 100, "\(kills)")
            }
        }
    }

    @Test("A mounted file stays as it is if it cannot be written, or has no space", arguments: lengths)
    func mountedWithoutSpace(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            mkdir(place.folder["real"], 0o755)
            try await place.mounted("mount", "-t", "tmpfs", "-o", "size=64k", "none", place.folder["real"]) {
                () async throws in
                let real = place.folder["real/f"]
                let old = [UInt8](repeating: 7, count: 9000)
                try Files.write(old, to: real)
                try Files.write([UInt8](repeating: 1, count: 52 << 10), to: place.folder["real/rest"])
                try Files.write([], to: "\(place.out)/a.bin")
                try await place.mounted("mount", "--bind", real, "\(place.out)/a.bin") { () async throws in
                    let full = try await place.get("a.bin")
                    #expect(full.status == 74, "\(full.errors)")
                    #expect(try Files.bytes(real) == old)
                    let requests = place.server.requests.count
                    #expect(
                        try await Shell.outcome("mount", ["-o", "remount,bind,ro", "\(place.out)/a.bin"]).status == 0)
                    let refused = try await place.get("a.bin", ["--restart"])
                    #expect(refused.status == 73 && refused.errors.contains("Read-only"), "\(refused.errors)")
                    #expect(place.server.requests.count == requests)
                    #expect(try Files.bytes(real) == old)
                }
            }
        }
    }

    @Test("C3: a file that may be written in a folder that may not", arguments: lengths)
    func lockedFolder(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            try Files.write(Array(repeating: 9, count: 20_000), to: "\(place.out)/a.bin")
            chown("\(place.out)/a.bin", 65534, 65534)
            let outcome = try await place.get("a.bin", as: Self.nobody)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try place.has("a.bin"))
            #expect(try await place.get("b.bin", as: Self.nobody).status != 0)
        }
    }

    @Test("C3: a folder into which files can be put, and which cannot be read", arguments: lengths)
    func dropBox(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            chmod(place.out, 0o1733)
            let outcome = try await place.get("a.bin", as: Self.nobody)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try place.has("a.bin"))
        }
    }

    @Test("C4: a file gets the group of a set-group-ID folder", arguments: lengths)
    func groupOfFolder(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            chown(place.out, 0, gid_t(Self.group))
            chmod(place.out, 0o2775)
            #expect(try await place.get("a.bin").status == 0)
            #expect(try place.has("a.bin"))
            #expect(place.status("a.bin").st_gid == gid_t(Self.group))
            #expect(place.status("a.bin").st_mode & 0o777 == 0o644)
        }
    }

    @Test(
        "C4: a file gets the default access control list of a folder",
        .enabled(if: Shell.has("setfacl"), "needs setfacl"), arguments: lengths)
    func listOfFolder(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let set = try await Shell.outcome("setfacl", ["-d", "-m", "u:4243:rw", place.out])
            #expect(set.status == 0, "\(set.errors)")
            #expect(try await place.get("a.bin").status == 0)
            let list = try await Shell.outcome("getfacl", ["-cpn", "\(place.out)/a.bin"]).output
            #expect(list.split(separator: "\n").contains("user:4243:rw-"), "\(list)")
        }
    }

    @Test(
        "C4: a replaced file keeps its group and its list, or the group loses",
        .enabled(if: Shell.has("setfacl"), "needs setfacl"), arguments: lengths)
    func replaced(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let path = "\(place.out)/a.bin"
            try Files.write([1], to: path)
            chown(path, 0, gid_t(Self.group))
            chmod(path, 0o640)
            #expect(try await place.get("a.bin").status == 0)
            #expect(place.status("a.bin").st_gid == gid_t(Self.group))
            #expect(place.status("a.bin").st_mode & 0o777 == 0o640)
            // The mask allows writing, which the group may not do.
            #expect(try await Shell.outcome("setfacl", ["-m", "u:4243:rw,g::r", path]).status == 0)
            #expect(try await place.get("a.bin", ["--restart"]).status == 0)
            #expect(try place.has("a.bin"))
            let list = try await Shell.outcome("getfacl", ["-cpn", path]).output.split(separator: "\n")
            #expect(list.contains("user:4243:rw-") && list.contains("group::r--"), "\(list)")
            #expect(place.status("a.bin").st_gid == gid_t(Self.group))
        }
        try await Place.with(length) { place async throws in
            // Whoever replaces it is not in the group.
            chown(place.out, 65534, 65534)
            let path = "\(place.out)/a.bin"
            try Files.write([1], to: path)
            chown(path, 65534, gid_t(Self.group))
            chmod(path, 0o664)
            #expect(try await place.get("a.bin", as: Self.nobody).status == 0)
            #expect(place.status("a.bin").st_gid == 65534)
            #expect(place.status("a.bin").st_mode & 0o777 == 0o644)
        }
    }

    @Test("C9: a link is replaced, or followed", arguments: lengths)
    func link(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let real = place.folder["real"]
            try Files.write([1, 2, 3], to: real)
            symlink(real, "\(place.out)/a.bin")
            let followed = try await place.get("a.bin", ["--follow-links"])
            #expect(followed.status == 0, "\(followed.errors)")
            #expect(try Files.bytes(real) == place.content)
            #expect(try place.has("a.bin"))
            try Files.write([1, 2, 3], to: real)
            let replaced = try await place.get("a.bin", ["--restart"])
            #expect(replaced.status == 0, "\(replaced.errors)")
            #expect(replaced.errors.contains("is a link, which is replaced"), "\(replaced.errors)")
            #expect(try Files.bytes(real) == [1, 2, 3])
            #expect(try place.has("a.bin"))
        }
    }

    @Test("D12: a device and a pipe get the bytes", arguments: lengths)
    func stream(length: Int64) async throws {
        try await Place.with(length) { place async throws in
            let (url, path) = ("\(place.server.baseURL)/file.bin", "\(place.out)/pipe")
            let program = Resumectl(folder: place.folder)
            let thrown = try await program.run("get", url, "-o", "/dev/null")
            #expect(thrown.status == 0, "\(thrown.errors)")
            mkfifo(path, 0o600)
            async let read = Shell.outcome("sh", ["-c", "cat '\(path)' > '\(place.folder["copy"])'"])
            let piped = try await program.run("get", url, "-o", path)
            #expect(piped.status == 0, "\(piped.errors)")
            #expect(try await read.status == 0)
            #expect(try Files.bytes(place.folder["copy"]) == place.content)
        }
    }
}
