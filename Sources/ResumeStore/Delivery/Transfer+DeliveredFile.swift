internal import ResumeFiles
internal import ResumeHTTP

extension Transfer {
    /// Returns what makes the record by which a later run recognizes the delivered file.
    ///
    /// - Parameters:
    ///   - isProved: Whether the file is known to be the server's, so that it has its validators.
    ///   - digest: The digest that it was found to have; nil if none was compared.
    /// - Returns: A closure that makes the record from the status of the file.
    func delivered(isProved: Bool, _ digest: HTTPDigest?) -> @Sendable (FileStatus) -> DeliveredFile {
        let representation = isProved ? entry.representation : nil
        let requester = isProved ? requester(for: representation).code : nil
        let resource = caller.answer ?? entry.requester.resource
        return { status in
            DeliveredFile(
                stamp: status.stamp, entityTag: representation?.entityTag?.bytes,
                lastModified: representation?.lastModified, requester: requester, digest: digest,
                checkedAt: digest == nil ? 0 : WallClock.milliseconds, resource: resource)
        }
    }
}
