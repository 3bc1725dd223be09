import ResumeHTTP
import ResumeStore

func beginOnTerms(_ url: DownloadURL, in store: DownloadStore) async throws -> Transfer {
    // SNIPPET
    let policy = ResumePolicy(condition: .ifMatch, overlap: 65_536)
    let transfer = try await store.begin(url, policy: policy)
    // END
    return transfer
}

func explain(_ url: DownloadURL, in store: DownloadStore) async throws {
    // SNIPPET
    for event in try await store.events(key: url.redacted) {
        print("\(event.kind.rawValue): \(event.reason.code.rawValue), \(event.reason.text)")
    }
    // END
}
