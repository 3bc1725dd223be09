internal import ResumeFiles
internal import ResumeHTTP

extension Transfer {
    /// Returns what a later run recognizes the delivered file by; nil if that cannot be determined.
    func delivered(to path: String) -> DeliveredFile? {
        delivered(as: try? Destination(path).status)
    }

    func delivered(as status: FileStatus?) -> DeliveredFile? {
        guard let status, status.kind == .regular else { return nil }
        let representation = entry.representation
        return DeliveredFile(
            size: status.size, modifiedAt: status.modifiedAt, entityTag: representation?.entityTag?.bytes,
            lastModified: representation?.lastModified, requester: requester(for: representation).code)
    }
}
