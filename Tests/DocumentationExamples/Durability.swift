import ResumeStore

func openAndLook() async throws {
    // SNIPPET
    let store = try await DownloadStore.open(
        at: "/var/cache/example", configuration: .init(durableInterval: 16 << 20))
    for entry in try await store.entries() {
        print("\(entry.key): \(entry.receivedBytes) bytes held, \(entry.durableBytes) safe from a power cut")
    }
    // END
    await store.close()
}
