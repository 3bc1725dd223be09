#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The name under which the file of `get --output -` is delivered.
enum StandardOutput {
    private static let prefix = "/.standard-output-"

    /// Returns a new path in a store's folder.
    static func path(in folder: String) -> String { "\(folder)\(prefix)\(UUID().uuidString)" }

    /// Returns a text in which such a path is replaced by words.
    static func shown(_ text: String) -> String {
        guard text.contains(prefix) else { return text }
        return text.replacing(/\/[^\n]*\/\.standard-output-[0-9A-F-]{36}/, with: "standard output")
    }
}
