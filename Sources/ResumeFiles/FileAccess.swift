/// Who may use a file that is delivered: those who may use the file that it replaces, or whom its folder admits.
package struct FileAccess {
    private let folder: Folder
    private let name: String
    /// The file that is replaced; nil for none.
    private let replaced: FileStatus?
    /// Whether a new file gets its group, or an access control list, from the folder.
    package let comesFromFolder: Bool

    /// Finds out who may use a file.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - folder: Its folder.
    ///   - replaces: Whether it replaces a file with that name.
    /// - Throws: ``SystemError``
    package init(to name: String, in folder: Folder, replaces: Bool) throws(SystemError) {
        self.folder = folder
        self.name = name
        let old = replaces ? try folder.status(of: name) : nil
        replaced = old?.kind == .regular && old?.owner == geteuid() ? old : nil
        comesFromFolder = try folder.givesAccess
    }

    /// Creates the file, which nobody else may use before it has the access of the one that it replaces.
    ///
    /// Where permissions cannot be changed later, it is created with those of that file.
    ///
    /// - Throws: ``SystemError``
    func create(_ name: String, in folder: Folder) throws(SystemError) -> OpenFile {
        let flags = O_RDWR | O_CREAT | O_EXCL
        let file = try OpenFile(
            name, in: folder.file, flags: flags, mode: replaced == nil ? 0o666 : 0o600, isFixed: false)
        guard let replaced else { return file }
        let first = try file.status().permissions
        try file.permit(first ^ 0o100)
        if try file.status().permissions != first { return file }
        try folder.remove(name)
        return try OpenFile(name, in: folder.file, flags: flags, mode: replaced.permissions & 0o777, isFixed: false)
    }

    /// Gives a file the access of the one that it replaces, or that of a new file.
    ///
    /// The owner can always write: until the rename it is a file of the store, which is opened again after a crash. If
    /// the group or the access control list cannot be kept, the group may do no more than everybody. File systems
    /// without permissions keep theirs.
    ///
    /// - Returns: Whether the file has it now.
    /// - Throws: ``SystemError``
    @discardableResult package func give(to file: OpenFile) throws(SystemError) -> Bool {
        guard let replaced else { return comesFromFolder ? true : try file.permit(OpenFile.ordinaryMode) }
        let mode = replaced.permissions & 0o777 | 0o600
        let everybody = mode & 0o007
        // What the list or the group would lose is never permitted in between.
        try file.permit(mode & ~0o070)
        let hasGroup = try file.status().group == replaced.group || fchown(file.descriptor, .max, replaced.group) == 0
        let isKept =
            unsafe hasGroup && resume_files_copy_list(folder.file.descriptor, name.systemPath, file.descriptor) == 0
        return try file.permit(isKept ? mode : mode & ~0o070 | everybody << 3 & mode)
    }
}

extension OpenFile {
    /// Sets the permissions of a file, where the file system has any; returns whether it has them.
    @discardableResult fileprivate func permit(_ mode: mode_t) throws(SystemError) -> Bool {
        do {
            try SystemError.check("fchmod", path) { fchmod(descriptor, mode) }
        } catch {
            guard [EPERM, EACCES, EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else {
                throw error
            }
        }
        return try status().permissions & 0o777 == mode
    }
}
