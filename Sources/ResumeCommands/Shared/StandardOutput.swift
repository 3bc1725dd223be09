#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeFiles

/// The name under which the file of `get --output -` is delivered if it goes through the store.
enum StandardOutput {
    private static let prefix = "/.standard-output-"

    /// Returns a new path in a store's folder.
    static func path(in folder: String) -> String { "\(folder)\(prefix)\(UUID().uuidString)" }

    /// Returns a text in which such a path is replaced by words.
    static func shown(_ text: String) -> String {
        guard text.contains(prefix) else { return text }
        // That it was delivered to that name does not mean that it was written.
        return text.replacing(/\/[^\n]*\/\.standard-output-[0-9A-F-]{36}/, with: "standard output")
            .replacing("delivered to standard output", with: "received for standard output")
    }

    /// Finds the files of processes that were killed before they had removed the name.
    ///
    /// Running processes do not need theirs: they read from the open file.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - removes: Whether they are removed.
    /// - Returns: The names, with the bytes that they use on disk.
    static func leftovers(in folder: String, removing removes: Bool) -> [(name: String, bytes: Int64)] {
        let names = (try? Folder(folder, followsLinks: true).names()) ?? []
        return names.sorted().compactMap { name in
            guard name.wholeMatch(of: /\.standard-output-[0-9A-F-]{36}/) != nil,
                let file = try? Folder.status(at: "\(folder)/\(name)"), file.kind == .regular
            else { return nil }
            if removes, unsafe unlink("\(folder)/\(name)".systemPath) != 0 { return nil }
            return (name, file.bytesOnDisk)
        }
    }
}
