internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

extension Transfer {
    /// Makes the whole durable and its completeness known: from here on no crash needs another request.
    func seal() async throws {
        guard isComplete else { throw StoreError.incomplete }
        try checkpoint()
        try await sync.finish()
        let (id, generation) = (entry.id, entry.generation)
        let isCurrent = try await sync.synchronize { connection in
            try connection.markComplete(id: id, generation: generation, now: WallClock.milliseconds)
        }
        guard isCurrent else { throw Self.superseded }
        entry.state = .complete
        KillPoint.reached(.sealed)
    }

    /// Whether the whole is there and so short that the death of the process may cost it: then nothing is recorded of
    /// it between its last byte and its delivery, with which its row goes.
    var isBrief: Bool {
        isComplete && held <= PartLedger.unrecordedLimit && entry.chunks.count == 1 && segments.isEmpty
    }

    /// Hands a complete download over: the destination appears whole under its final name, or not at all.
    ///
    /// The order is: bytes synced, row complete, a second name (or a copy) beside the destination, rename, folder
    /// synced, row removed, blob removed. While somebody else waits for the same download, row and blob stay for him.
    ///
    /// - Parameter destination: The file.
    /// - Throws: ``StoreError``: `destination`, `destinationExists`, `noSpace`, `io`, `database`: then the download stays
    ///   complete in the store. `heldBytesDiffer` where bytes that were held before are not those that were recorded
    ///   any more: they were dropped, and the next plan asks for them.
    public func deliver(to destination: Destination) async throws {
        try await deliver(to: destination, fulfilling: nil, isProved: isProved)
    }

    /// Does what ``deliver(to:)`` does, and takes a row of a queue away in the transaction that records it: so no crash
    /// makes the queue fetch again what was delivered.
    ///
    /// - Parameters:
    ///   - destination: The file.
    ///   - row: The row; nil for none.
    ///   - isProved: Whether all bytes are known to be of one representation, for the log.
    ///   - onReceived: Told the length of a small file before it waits for others that are brought to disk.
    /// - Throws: What ``deliver(to:)`` throws.
    package func deliver(
        to destination: Destination, fulfilling row: Int64?, isProved: Bool, onReceived: ((Int64) -> Void)? = nil
    ) async throws {
        try requireOpen()
        guard isComplete else { throw StoreError.incomplete }
        // Known before there is anything beside it, so that whoever comes after a crash knows where to look.
        try await setDestination(destination)
        try await requireConfirmed()
        if canDeliverBrief(to: destination) {
            onReceived?(held)
            if try await deliverBrief(to: destination, fulfilling: row, isProved: isProved) { return }
        }
        try await becomeOrdinary(isDelivered: true)
        let isShared = isAwaited
        // One that replaces nothing must know after a crash that what has its name is its own delivery.
        if isBrief, !isShared, destination.replaces {
            try await sync.finish()
            if entry.grows {
                // After a crash between the rename and the removal of the row, the blob is the user's file.
                let id = entry.id
                try await store.write { connection in try connection.stopGrowing(id: id) }
                entry.grows = false
            }
            try await sync.synchronizeData()
            if isRowUnsynced {
                // It knows what there may be beside the destination.
                let id = entry.id
                try await store.write(durability: .power) { connection in
                    try connection.setUsed(id: id, now: WallClock.milliseconds)
                }
                isRowUnsynced = false
            }
        } else if entry.state != .complete || entry.held.length != held {
            try await seal()
        }
        guard let blob, let name = entry.chunks.first.flatMap({ BlobName(path: $0.path) }) else {
            throw StoreError(.misuse, "there is nothing to deliver")
        }
        let file: FileStatus
        do {
            file = try blob.status()
        } catch {
            throw StoreError(wrapping: error)
        }
        guard file.size >= held else {
            throw StoreError.blobShort
        }
        // A blob may be longer than what counts, after a crash or a body cut in a lie; and after a crash between rename
        // and row it may be the delivered file itself, which is its owner's now. Both are copied, not linked.
        let isExact = file.size == held && file.links == 1
        let staging = Staging(
            blob: blob, name: name, blobs: store.folder.blobs, length: held, destination: destination,
            copies: isShared || !isExact)
        do {
            // Another disk may take long, or not answer.
            let folder = try await Blocking.run { try staging.run() }
            try await FolderSynchronizer.shared.synchronize(folder)
            KillPoint.reached(.deliverySynced)
        } catch {
            let isForeign = (error as? SystemError)?.number == EBUSY
            if !isForeign {
                _ = try? Folder(destination.folder, followsLinks: true).remove(Destination.stagingName(for: name))
            }
            if !destination.replaces, let error = error as? SystemError, error.number == EEXIST, error.call == "rename"
            {
                throw destination.isTaken
            }
            throw StoreError(writingDestination: error)
        }
        try leaveStore(
            isShared: isShared, to: destination.path, fulfilling: row, isProved: isProved)
    }

    /// Removes the entry once it was handed over, unless somebody else waits for it.
    ///
    /// - Parameters:
    ///   - isShared: Whether somebody waited when it was handed over.
    ///   - place: Where to, for people.
    ///   - row: The row of a queue that goes with it; nil for none.
    ///   - isProved: Whether all bytes are known to be of one representation.
    /// - Throws: ``StoreError``
    func leaveStore(
        isShared: Bool, to place: String, fulfilling row: Int64? = nil, isProved: Bool = true
    ) throws {
        let (entry, name, folder) = (entry, key, store.folder)
        let isClaimed = isClaimed
        let events = departure(to: place, isProved: isProved)
        let requester = isClaimed ? requester(for: entry.representation) : .nobody
        let isStillShared = isShared && isAwaited
        let blobs = try store.writeNow { connection in
            for event in events { try connection.record(event) }
            if let row { try connection.removeQueued(row) }
            guard isClaimed else { return [BlobName]() }
            let others = try requester.code.map { _ in
                try connection.removeVariants(of: name, beside: entry.id, for: requester, in: folder)
            }
            return try (others ?? []) + (isStillShared ? [] : connection.remove(entry))
        }
        KillPoint.reached(.rowRemoved)
        // It was handed over: a blob that cannot be removed is left to the collector.
        try? store.removeBlobs(blobs)
        release()
    }

    /// What the log tells of a delivery: with no row before, also how it began.
    ///
    /// - Parameters:
    ///   - place: Where to, for people.
    ///   - isProved: Whether all bytes are known to be of one representation.
    /// - Returns: The events, in order.
    func departure(to place: String, isProved: Bool) -> [Event] {
        let started = isClaimed ? nil : startReason
        return [
            started.map { Event(key: entry.key, at: entry.createdAt, kind: .started, reason: $0, bytes: 0) },
            Event(
                key: entry.key, at: WallClock.milliseconds, kind: .delivered,
                reason: .delivered(to: place, isProved: isProved), bytes: held),
        ].compactMap { $0 }
    }
}

/// The steps of a delivery on the file system.
private struct Staging: Sendable {
    let blob: OpenFile
    let name: BlobName
    let blobs: Folder
    let length: Int64
    let destination: Destination
    /// Whether the blob stays for somebody else, so that the destination must be a file of its own.
    let copies: Bool

    /// Gives the bytes their final name.
    ///
    /// - Returns: The folder, whose names are to be synced.
    func run() throws -> Folder {
        let folder = try Folder(destination.folder, followsLinks: true)
        let staging = Destination.stagingName(for: name)
        try folder.remove(staging)
        if !destination.replaces, try isDelivered(in: folder) { return folder }
        let mode = try self.mode(in: folder)
        let file =
            copies
            ? try blob.copy(to: staging, in: folder, length: length, mode: mode)
            : try stage(as: staging, in: folder, mode)
        KillPoint.reached(.deliveryStaged)
        // A pipe, a socket or a device may have got this name since the beginning, also during a long copy.
        if destination.replaces { try destination.requireReplaceable(in: folder) }
        // A copy of this store on another machine, or beside this one, gives the same download the same names.
        guard try folder.status(of: staging)?.identity == file else {
            throw SystemError(number: EBUSY, call: "rename", path: destination.path)
        }
        try SystemError.check("rename", destination.path) {
            let (names, name) = (folder.file.descriptor, destination.name)
            return unsafe destination.replaces
                ? renameat(names, staging, names, name) : resume_files_rename_new(names, staging, name)
        }
        KillPoint.reached(.deliveryRenamed)
        // Two names of one file are left alone by rename; so they are after a crash at this point.
        _ = try? folder.remove(staging)
        return folder
    }

    /// The permissions of the file that is replaced, since it may have been private; those of a new file otherwise.
    ///
    /// Its owner may always write: until the rename this is the store's own file, which is opened again after a crash.
    private func mode(in folder: Folder) throws(SystemError) -> mode_t {
        guard destination.replaces, let old = try folder.status(of: destination.name), old.kind == .regular,
            old.owner == geteuid()
        else { return FileMode.ordinary }
        return old.permissions & 0o777 | 0o600
    }

    /// Whether the very bytes have that name: a crash came between their delivery and the row.
    private func isDelivered(in folder: Folder) throws(SystemError) -> Bool {
        // What cannot be read is somebody else's.
        guard let status = try folder.status(of: destination.name), status.kind == .regular, status.size == length,
            let file = try? OpenFile(destination.name, in: folder.file, flags: O_RDONLY)
        else { return false }
        if try file.status().identity == blob.status().identity { return true }
        guard try file.hasSameBytes(as: blob, length: length) else { return false }
        // It may be a copy of the user's own.
        try file.synchronize()
        return true
    }

    /// A hard link where the file system allows one, since that costs nothing; else a copy.
    private func stage(as staging: String, in folder: Folder, _ mode: mode_t) throws(SystemError) -> FileIdentity {
        do {
            try SystemError.check("link", staging) {
                unsafe linkat(blobs.file.descriptor, name.fileName, folder.file.descriptor, staging, 0)
            }
        } catch {
            guard [ENOENT, EXDEV, EPERM, EMLINK, ENOTSUP, EOPNOTSUPP, EACCES, ENOSYS].contains(error.number) else {
                throw error
            }
            return try blob.copy(to: staging, in: folder, length: length, mode: mode)
        }
        let file = try blob.status().identity
        // With locks that do not work the name may be gone, and with it what it meant: the open blob is what was filled.
        guard try folder.status(of: staging)?.identity == file else {
            try folder.remove(staging)
            return try blob.copy(to: staging, in: folder, length: length, mode: mode)
        }
        try SystemError.check("fchmod", staging) { fchmod(blob.descriptor, mode) }
        return file
    }
}
