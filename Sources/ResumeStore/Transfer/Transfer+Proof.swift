import ResumeHTTP

/// Whether the stored bytes are known to belong to one representation.
extension Transfer {
    /// False if responses were combined without a validator and no digest of the whole file is compared.
    package var isProved: Bool {
        get async {
            if policy.hasDigest { return true }
            if entry.agreedSamples != nil { return false }
            if isSpliced == nil { isSpliced = await wasSpliced() }
            return isSpliced == false
        }
    }

    /// Returns whether an earlier transfer combined the stored bytes from several responses.
    ///
    /// The log has all decisions since the first response, unless that was too long ago.
    private func wasSpliced() async -> Bool {
        guard let representation = entry.representation, representation.validator == nil, receivedBytes > 0 else {
            return false
        }
        guard let events = try? await store.events(for: entry.key),
            let start = events.lastIndex(where: { $0.kind == .started || $0.kind == .restarted })
        else { return true }
        return events[start...].contains { $0.reason.code == Reason.resumedUnvalidatedCode }
    }
}

extension Reason {
    static func delivered(to place: String, isProved: Bool) -> Reason {
        Reason(
            "delivered",
            "the complete file was delivered to \(place)"
                + (isProved ? "" : "; no validator or digest proves that it is one version"))
    }
}
