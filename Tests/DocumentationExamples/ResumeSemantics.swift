import ResumeHTTP
import ResumeStore

func beginOnTerms(_ url: DownloadURL, in store: DownloadStore) async throws -> Transfer {
    // SNIPPET
    let policy = ResumePolicy(condition: .ifMatch, overlap: 65_536)
    let transfer = try await store.open(url, policy: policy)
    // END
    return transfer
}

func explain(_ url: DownloadURL, in store: DownloadStore) async throws {
    // SNIPPET
    for event in try await store.events(for: url) {
        print("\(event.kind.rawValue): \(event.reason.code.rawValue), \(event.reason.text)")
    }
    // END
}
