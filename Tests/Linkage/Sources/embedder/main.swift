import ResumeStore

// One download up to its first request, in memory and in a store at the path that is given.
let url = try DownloadURL("http://example.org/file")
let inMemory = try await MemoryStore().open(url)
let store = try await DownloadStore.open(at: CommandLine.arguments[1])
let transfer = try await store.open(url)
let fields = await transfer.nextRequest()
let isSame = await inMemory.nextRequest() == fields
print(fields.first.map { "\($0)" } ?? "no fields", isSame)
try await transfer.close()
do {
    _ = try await DownloadStore.open(at: "/dev/null/store")
} catch {
    print((error as? StoreError)?.errorNumber != nil)
}
await store.close()
