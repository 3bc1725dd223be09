import ResumeHTTP
import ResumeStore

// One download up to its first request, in memory and in a store at the path that is given.
let url = try DownloadURL("http://example.org/file")
let inMemory = try await MemoryStore().begin(url)
let store = try await DownloadStore.open(at: CommandLine.arguments[1])
let transfer = try await store.begin(url)
let plan = await transfer.plan()
let isSame = await inMemory.plan() == plan
print(plan.fields.first.map { "\($0)" } ?? "no fields", isSame)
try await transfer.close()
do {
    _ = try await DownloadStore.open(at: "/dev/null/store")
} catch {
    // The error of the system call is public without an import of the module that declares it.
    print((error as? StoreError)?.cause.flatMap { $0 as? SystemError }?.number != nil)
}
await store.close()
