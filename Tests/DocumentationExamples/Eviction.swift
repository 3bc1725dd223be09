import ResumeStore

func openWithBudget() async throws -> DownloadStore {
    // SNIPPET
    let store = try await DownloadStore.open(
        at: "/var/cache/example", configuration: .init(maximumSize: 10 << 30, maximumAge: .seconds(7 * 86_400)))
    // END
    return store
}

func collect(_ store: DownloadStore) async throws {
    // SNIPPET
    let report = try await store.collect()
    for removed in report.removed {
        print("\(removed.key), \(removed.bytes) bytes: \(removed.reason)")
    }
    print("\(report.freedBytes) bytes freed; in use: \(report.inUse)")
    // END
}

func chooseByHand(_ store: DownloadStore) async throws {
    // SNIPPET
    let isKept = try await store.setPinned(true, for: "https://example.org/image.iso")
    let report = try await store.purge { entry in
        !entry.isPinned && entry.url.hasPrefix("https://old.example.org/")
    }
    // END
    print(isKept, report)
}
