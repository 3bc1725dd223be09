import ResumeFiles

/// The steps of a delivery on the file system.
struct Staging {
    let blob: OpenFile
    let name: BlobName
    let store: StoreFolder
    let length: Int64
    let destination: Destination
    /// Whether the blob is kept for another caller, so that the destination must be a separate file.
    let copies: Bool
    /// Throws unless the file itself is right, as others may change the blob at any time; nil if only the user can.
    let check: (@Sendable (OpenFile, _ isWritten: Bool) throws -> Void)?
    /// Records the file before it gets its final name; also before it is written in place, and whether it is that.
    let record: @Sendable (FileStatus, _ isBeingWritten: Bool) throws -> Void

    /// Gives the bytes their final name, which then survives a power loss.
    ///
    /// - Returns: The file before it got its name; nil if it had it already.
    /// - Throws: ``StoreError``; what was made beside the destination is removed.
    func deliver() async throws -> FileStatus? {
        do {
            // Another disk may take long, or not answer.
            let (folder, staged) = try await Blocking.run { try run() }
            try await FolderSynchronizer.shared.synchronize(folder)
            KillPoint.reached(.deliverySynced)
            return staged
        } catch {
            let failure = error as? SystemError
            if failure?.number != EBUSY {
                _ = try? Folder(destination.folder, followsLinks: true).remove(Destination.stagingName(for: name))
            }
            if !destination.replaces, failure?.number == EEXIST, failure?.call == "rename" {
                throw destination.isRecorded ? destination.isRefused(.appeared) : destination.isTaken
            }
            // That of the check.
            guard error is StoreError || failure != nil else { throw error }
            throw StoreError(writingDestination: error)
        }
    }

    /// Gives the bytes their final name.
    ///
    /// - Returns: The folder whose names must be synced, and the file before it got its name; nil if it had it already.
    private func run() throws -> (Folder, FileStatus?) {
        let folder = try Folder(destination.folder, followsLinks: true)
        let staging = Destination.stagingName(for: name)
        if !destination.replaces, try isDelivered(in: folder) { return (folder, nil) }
        if destination.isWrittenInPlace(in: folder) { return (folder, try writeInPlace(in: folder)) }
        try folder.remove(staging)
        let access = try destination.access(in: folder)
        // A hard link needs no space, but not every file system supports it, and it has no access from the folder.
        let linked = copies || access.comesFromFolder ? nil : try link(as: staging, in: folder, access)
        let file = try linked ?? blob.copy(to: staging, in: folder, length: length, for: access)
        KillPoint.reached(.deliveryStaged)
        // A pipe, a socket or a device may have been created under this name since the start, also during a long copy.
        if destination.replaces {
            try destination.requireReplaceable(over: folder.status(of: destination.name))
        }
        // A copy of this store, here or on another machine, uses the same temporary names for the same download.
        guard let staged = try folder.status(of: staging), staged.identity == file else {
            throw SystemError(number: EBUSY, call: "rename", path: destination.path)
        }
        try check?(OpenFile(staging, in: folder.file, flags: O_RDONLY), false)
        try record(staged, false)
        try SystemError.check("rename", destination.path) {
            let names = folder.file.descriptor
            let name = destination.name.systemPath
            return unsafe destination.replaces
                ? renameat(names, staging, names, name) : resume_files_rename_new(names, staging, name)
        }
        KillPoint.reached(.deliveryRenamed)
        // If both are names of the same file, as after a crash at this point, rename does nothing and leaves the
        // temporary name.
        _ = try? folder.remove(staging)
        return (folder, staged)
    }

    /// Writes the bytes into the file that has the name, where no other file can get it.
    ///
    /// If the process dies meanwhile, that file is neither the old nor the new one. The store has all bytes until they are
    /// flushed here, and the next delivery writes them again.
    ///
    /// - Returns: The file as it is then.
    private func writeInPlace(in folder: Folder) throws -> FileStatus {
        guard destination.replaces else {
            throw SystemError(number: EEXIST, call: "rename", path: destination.path)
        }
        let target = try OpenFile(destination.name, in: folder.file, flags: O_RDWR)
        let old = try target.status()
        try destination.requireReplaceable(over: old)
        try record(old, true)
        KillPoint.reached(.deliveryStaged)
        if try old.identity != blob.status().identity { try blob.overwrite(target, length: length) }
        try check?(target, true)
        let written = try target.status()
        try record(written, false)
        KillPoint.reached(.deliveryRenamed)
        return written
    }

    /// Whether the same bytes already have that name, because of a crash between their delivery and the commit.
    private func isDelivered(in folder: Folder) throws -> Bool {
        // A file that cannot be read belongs to another user.
        guard let status = try folder.status(of: destination.name), status.kind == .regular, status.size == length,
            let file = try? OpenFile(destination.name, in: folder.file, flags: O_RDONLY)
        else { return false }
        // Others can write to the blob of a shared store, whatever its name is.
        if try file.status().identity == blob.status().identity { return !store.root.file.isShared }
        guard try HeldBytes(blob: blob).firstDifference(from: file, in: 0..<length) == nil else { return false }
        try check?(file, false)
        // It may be a copy that the user made.
        try file.synchronize()
        return true
    }

    /// Creates a hard link; returns nil if that is not possible.
    private func link(as staging: String, in folder: Folder, _ access: FileAccess) throws(SystemError)
        -> FileStatus.Identity?
    {
        do {
            let blobs = try store.folder(of: name) ?? store.blobs
            try SystemError.check("link", folder.path(of: staging)) {
                unsafe linkat(blobs.file.descriptor, name.fileName, folder.file.descriptor, staging, 0)
            }
        } catch {
            guard [ENOENT, EXDEV, EPERM, EMLINK, ENOTSUP, EOPNOTSUPP, EACCES, ENOSYS].contains(error.number) else {
                throw error
            }
            return nil
        }
        let file = try blob.status().identity
        // If locks do not work, the name may have been removed or reused; the open blob is the one that was filled. Where
        // permissions cannot be changed, it keeps those of the store.
        guard try folder.status(of: staging)?.identity == file, try access.give(to: blob) else {
            try folder.remove(staging)
            return nil
        }
        return file
    }
}
