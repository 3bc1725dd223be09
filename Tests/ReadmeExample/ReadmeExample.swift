// The code between the marks is shown in README.md. DocumentationTests compare the two.
// SNIPPET
import Foundation
import Resume

func fetchModel(from url: URL, to path: String, cache: String) async -> Bool {
    do {
        let file = try await withDownloader(storingIn: cache) { try await $0.download(url, to: path) { print($0) } }
        print("\(file.path): \(file.totalBytes) bytes, \(file.reusedBytes) of them received earlier")
        return true
    } catch {
        // What happened, and what you can do.
        print(error)
        return false
    }
}
// END
