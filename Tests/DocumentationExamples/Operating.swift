import ResumeHTTP
import ResumeMaintenance
import ResumeStore

func lookAfter(_ store: DownloadStore) async throws {
    // SNIPPET
    for finding in try await store.verify(repairing: true) {
        print("\(finding.kind.rawValue), \(finding.key ?? "the store"): \(finding.detail)")
    }
    // END
}

func rebuild() async throws {
    // SNIPPET
    do {
        _ = try await DownloadStore.open(at: "/var/cache/example", creating: false)
    } catch let error as StoreError where error.code == .damaged {
        let report = try await DownloadStore.rebuild(at: "/var/cache/example")
        print("\(report.saved.count) saved, \(report.lost.count) lost; set aside: \(report.asideFolder ?? "nothing")")
    }
    // END
}
