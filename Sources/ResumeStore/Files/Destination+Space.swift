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
        guard let open = try? Folder(folder, followsLinks: true), let space = try? open.space(),
            let device = try? open.file.status().identity.device,
            let own = try? store.blobs.file.status().identity.device, device != own, space < length
        else { return }
        throw StoreError(.noSpace, Reason("destination-space", with: length, space, folder))
    }
}
