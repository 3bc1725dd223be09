package import ResumeHTTP
import ResumeSQLite

extension ResumeData {
    /// Creates resume data from an entry, or from its current state in a transfer; nil if the next request could not be
    /// for the remaining bytes only.
    package init?(
        of entry: Entry, held current: HeldPartial? = nil, receivedBytes: Int64? = nil, policy: ResumePolicy
    ) {
        let held = current ?? entry.held
        // Bytes that the server has not confirmed for this caller do not belong to it.
        guard held.access != .foreign else { return nil }
        switch Plan(for: held, policy: policy) {
        case .whole, .first: return nil
        case .range, .complete: break
        }
        // Encoded bytes are discarded if the unencoded file is requested.
        guard policy.accepts(coding: held.representation?.contentCoding) else { return nil }
        let key = DownloadName.callersKey(entry.name, entry.selection) ?? entry.name
        self.init(
            url: entry.url, key: key, selection: entry.selection,
            validator: held.representation?.validator,
            receivedBytes: receivedBytes ?? entry.receivedBytes, totalBytes: held.totalLength)
    }

    /// Returns why the stored bytes are not those that this was created from; nil if they are or may be.
    package func mismatch(with held: HeldPartial) -> Reason? {
        if held.isEmpty, !held.hasAllBytes { return .partialGone }
        guard let validator, held.representation?.validator != validator else { return nil }
        return .otherRepresentationHeld
    }
}
