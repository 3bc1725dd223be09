import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Files in place, which are read and compared with a digest, without a network.
extension VerifyCommand {
    /// Compares files with their lines in the list of `--checksums`.
    func compareFiles(with list: String, _ context: CommandContext) async throws {
        let checksums = try Checksums(path: list)
        var wrong = 0
        for name in entries {
            let path = try Destination(name).path
            if try await !compare(path, with: try checksums.digest(ofPath: path), context) { wrong += 1 }
        }
        try Self.requireNone(wrong)
    }

    /// Throws if files were wrong.
    static func requireNone(_ wrong: Int) throws {
        guard wrong > 0 else { return }
        throw CommandFailure(
            .damaged,
            "\(wrong == 1 ? "1 file does" : "\(wrong) files do") not have the expected digest. Download "
                + "\(wrong == 1 ? "it" : "them") again with its checksum: \(Hint.run("get")) replaces a "
                + "damaged file, and with --overwrite also one that was changed.")
    }

    /// Compares a file, and records that it is right.
    func compare(_ path: String, with digest: HTTPDigest, _ context: CommandContext) async throws -> Bool {
        let place = try Destination(path)
        if case .file(let now) = place.found, now.size >= NameDecision.comparedWhole, !json {
            context.say("\(path): reading \(ByteCount.text(now.size))")
        }
        let read = try await place.digest(digest.algorithm)
        let isRight = read?.digest == digest
        if json {
            let found = read?.digest?.hexadecimal
            context.print(digest.members.adding(["path": path, "right": isRight, "found": found]))
        } else {
            let problem =
                read?.digest.map { "expected \(digest.hexadecimal), found \($0.hexadecimal)" } ?? "cannot be read"
            let name = digest.algorithm.rawValue.uppercased()
            context.print("\(path): \(isRight ? "\(name) verified" : problem)")
        }
        guard isRight, let read else { return false }
        _ = try? await context.withExistingStore(storeOptions) { store in
            guard let (record, known) = try await store.delivered(named: path) else { return }
            var file = known
            file.stamp = read.stamp
            file.digest = digest
            file.checkedAt = WallClock.milliseconds
            try await DeliveryRecords(of: store).renew(file, at: path, from: record.url)
        }
        return true
    }
}
