import ResumeFiles
import ResumeHTTP
import ResumeSQLite
import ResumeStore

extension Diagnostics {
    /// Checks the folder of a store and its files without opening the database, so it works even if that fails.
    ///
    /// - Parameters:
    ///   - path: The store's folder.
    ///   - isShared: Whether others may use it.
    /// - Returns: Checks of types, owners and permissions, or whether the folder can be created; empty if it is not a
    ///   store's.
    package static func files(at path: String, isShared: Bool = false) -> [Check] {
        let root: Folder
        do {
            let place = try StorePlace(of: path, isShared: isShared)
            if let objection = place.objection { return [refusal(objection.message, objection.remedy)] }
            if !place.isThere {
                try place.requireCreatable()
                return [Check(name: "folder", value: "can be created")]
            }
            root = try place.open()
        } catch let error where error.isRefused {
            return [refusal(error.description, .writableStore)]
        } catch {
            let advice = [ENOTDIR, ELOOP].contains(error.number) ? ". Choose a separate folder for the store." : ""
            return [Check(name: "folder", value: "cannot be opened", problem: "\(error)\(advice)")]
        }
        // No advice about other folders, whose path may have been given by mistake.
        let names = (try? root.names()) ?? []
        guard names.contains(StoreFolder.databaseName) || names.contains("blobs") else { return [] }
        var checks = [check("folder", in: root, at: path, of: path)]
        do {
            checks.append(check("blobs folder", in: try Folder("blobs", in: root), at: "\(path)/blobs", of: path))
        } catch {
            let problem = sentence("blobs-unusable", error.description, path)
            checks.append(Check(name: "blobs folder", value: "cannot be opened", problem: problem))
        }
        let problems = StoreFolder.fileNames.compactMap { name -> String? in
            guard let status = try? root.status(of: name) else { return nil }
            let file = "\(path)/\(name)"
            do {
                if let objection = try StoreFolder.objection(toFile: name, status, in: root, of: path) {
                    return objection.description
                }
            } catch {
                return "\(file) cannot be checked: \(error)."
            }
            guard !root.file.isShared, status.permissions & 0o077 != 0 else { return nil }
            return sentence("accessible", file, ShellWord.quoted(file))
        }
        let text = problems.isEmpty ? nil : problems.joined(separator: " ")
        checks.append(Check(name: "files", value: value(problems.count), problem: text))
        let aside = names.filter { $0.hasPrefix(StoreFolder.asidePrefix) }.sorted()
        if !aside.isEmpty {
            let value = sentence("set-aside", aside.joined(separator: ", "))
            checks.append(Check(name: "set_aside", value: value))
        }
        return checks
    }

    private static func refusal(_ problem: String, _ remedy: StoreError.Remedy?) -> Check {
        Check(name: "folder", value: "refused", problem: "\(problem).", remedy: remedy)
    }

    private static func check(_ name: String, in folder: Folder, at path: String, of store: String) -> Check {
        do {
            let status = try folder.file.status()
            let mode = String(status.permissions, radix: 8)
            let isOpen = status.permissions & 0o077 != 0 && !folder.file.isShared
            let problem =
                StoreFolder.objection(to: status, in: folder, at: path, of: store)?.description
                ?? (isOpen ? sentence("folder-accessible", ShellWord.quoted(path)) : nil)
            return Check(name: name, value: "mode \(mode)", problem: problem)
        } catch {
            return Check(name: name, value: "cannot be read", problem: error.description)
        }
    }

    fileprivate static func value(_ problems: Int, ok: String = "ok") -> String {
        problems == 0 ? ok : problems == 1 ? "1 problem" : "\(problems) problems"
    }
}

extension DownloadStore {
    /// Checks the database, its rows and the blobs for consistency; one check for each.
    func diagnoseContent() async throws -> [Diagnostics.Check] {
        var damage: (count: Int, first: Finding?) = (0, nil)
        var odd = damage
        try await verify(readsBytes: false) { finding in
            switch finding.kind {
            case .database: damage = (damage.count + 1, damage.first ?? finding)
            case .orphan: break
            default: odd = (odd.count + 1, odd.first ?? finding)
            }
        }
        let (unreadable, rows) = try await survey { connection in
            (try connection.unreadableEntries().count, try connection.count("SELECT count(*) FROM download"))
        }
        return [
            .init(
                name: "integrity", value: Diagnostics.value(damage.count),
                problem: damage.first.map { sentence("damaged-database", $0.detail) }, remedy: .rebuild),
            .init(
                name: "rows", value: "\(rows)",
                problem: unreadable == 0 ? nil : sentence("unreadable", unreadable)),
            .init(
                name: "blobs",
                value: Diagnostics.value(odd.count, ok: sentence("sizes-only")),
                problem: odd.first.map { "\($0.kind.rawValue): \($0.key.map(StoreError.shown) ?? $0.detail)." },
                remedy: .repair),
        ]
    }
}
