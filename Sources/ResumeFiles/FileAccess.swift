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

    /// The permissions with which it is created, before umask and folder change them: nobody else may use the file before
    /// it has the access of the one that it replaces.
    var firstMode: mode_t { replaced == nil ? 0o666 : 0o600 }

    /// Gives a file the access of the one that it replaces, or that of a new file.
    ///
    /// The owner can always write: until the rename it is a file of the store, which is opened again after a crash. If
    /// the group or the access control list cannot be kept, the group may do no more than everybody. File systems
    /// without permissions keep theirs.
    ///
    /// - Throws: ``SystemError``
    package func give(to file: OpenFile) throws(SystemError) {
        guard let replaced else {
            if !comesFromFolder { try file.permit(OpenFile.ordinaryMode) }
            return
        }
        let mode = replaced.permissions & 0o777 | 0o600
        let everybody = mode & 0o007
        // What the list or the group would lose is never permitted in between.
        try file.permit(mode & ~0o070)
        let hasGroup = try file.status().group == replaced.group || fchown(file.descriptor, .max, replaced.group) == 0
        let isKept =
            unsafe hasGroup && resume_files_copy_list(folder.file.descriptor, name.systemPath, file.descriptor) == 0
        try file.permit(isKept ? mode : mode & ~0o070 | everybody << 3 & mode)
    }
}

extension OpenFile {
    /// Sets the permissions of a file, where the file system has any.
    fileprivate func permit(_ mode: mode_t) throws(SystemError) {
        do {
            try SystemError.check("fchmod", path) { fchmod(descriptor, mode) }
        } catch {
            guard [EPERM, EACCES, EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
        }
    }
}
