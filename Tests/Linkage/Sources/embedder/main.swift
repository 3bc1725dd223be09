import ResumeHTTP
import ResumeStore

// One download up to its first request, in a store at the path that is given.
let store = try await DownloadStore.open(at: CommandLine.arguments[1])
let transfer = try await store.begin(try DownloadURL("http://example.org/file"))
let plan = await transfer.plan()
print(plan.fields.first?.description ?? "no fields")
try await transfer.close()
await store.close()
