/// What files can be in a folder, found out by trying.
///
/// A delivery needs none of the abilities except the first: it goes another way where one is missing.
package struct FolderAbilities: Sendable, Hashable {
    /// What is tried.
    package enum Ability: String, Sendable {
        case files = "new files"
        case permissions = "permissions"
        case links = "hard links"
        case replacement = "replacing an open file"
        case letterCase = "names that differ in case"
        case characters = "names with : or ?"
    }

    /// The name of the file system.
    package let fileSystem: String
    /// What is not possible.
    package let missing: [Ability]

    /// Tries everything with files whose names begin with a dot, and removes them.
    package init(of folder: Folder) {
        fileSystem = folder.networkFileSystem ?? folder.fileSystem
        let name = ".resumectl-\(UInt64.random(in: .min ... .max))"
        let link = "\(name)-link"
        let odd = "\(name)-a:b?"
        let upper = "\(name)-A"
        let lower = "\(name)-a"
        func make(_ name: String) -> OpenFile? {
            try? OpenFile(name, in: folder.file, flags: O_RDWR | O_CREAT | O_EXCL, isFixed: false)
        }
        defer { for name in [name, link, odd, upper, lower] { _ = try? folder.remove(name) } }
        guard let file = make(name) else {
            missing = [.files]
            return
        }
        let parent = folder.file.descriptor
        let hasPermissions = fchmod(file.descriptor, 0o640) == 0 && (try? file.status().permissions) == 0o640
        let isLinked = unsafe linkat(parent, name, parent, link, 0) == 0
        let hasCharacters = make(odd) != nil
        let hasCase = make(upper) != nil && make(lower) != nil
        let isReplaced = unsafe renameat(parent, upper, parent, name) == 0
        let all: [(Ability, Bool)] = [
            (.permissions, hasPermissions), (.links, isLinked), (.replacement, isReplaced), (.letterCase, hasCase),
            (.characters, hasCharacters),
        ]
        missing = all.filter { !$1 }.map(\.0)
    }
}
