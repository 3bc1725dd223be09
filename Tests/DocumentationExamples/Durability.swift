import ResumeStore

func openAndLook() async throws {
    // SNIPPET
    let store = try await DownloadStore.open(
        at: "/var/cache/example", configuration: .init(durableInterval: 16 << 20))
    for entry in try await store.entries() {
        print("\(entry.key): \(entry.receivedBytes) bytes received, \(entry.durableBytes) safe from a power failure")
    }
    // END
    await store.close()
}
