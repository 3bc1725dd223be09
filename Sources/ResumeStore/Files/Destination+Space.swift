import ResumeFiles
import ResumeHTTP

extension Destination {
    /// Files up to this length are not checked, since that would take longer than it saves.
    private static let uncheckedLength: Int64 = 1 << 20

    /// Throws if a file does not fit the file system of the destination, and must be copied there.
    ///
    /// Checked before the file is fetched. A file on the store's file system gets a second name, which needs no space.
    ///
    /// - Parameters:
    ///   - length: The length of the file; nil if it is unknown.
    ///   - store: The folder of the store.
    /// - Throws: ``StoreError`` with `noSpace`.
    func requireSpace(for length: Int64?, beside store: StoreFolder) throws(StoreError) {
        guard let length, length > Self.uncheckedLength else { return }
        // A folder that cannot be opened is reported by the delivery.
        guard let open = try? Folder(folder, followsLinks: true) else { return }
        let old = isWrittenInPlace(in: open) ? try? OpenFile(name, in: open.file, flags: O_WRONLY) : nil
        guard let status = try? (old ?? open.file).status(), let free = try? (old ?? open.file).space(),
            let own = try? store.blobs.file.status().identity.device
        else { return }
        // What is written over is free, too.
        let (space, isLarge) = free.addingReportingOverflow(old == nil ? 0 : status.size)
        guard old != nil || status.identity.device != own, !isLarge, space < length else { return }
        let place = old.map { "for \($0.path)" } ?? "in the folder \(folder)"
        throw StoreError(.noSpace, Reason("destination-space", with: length, space, place))
    }
}
