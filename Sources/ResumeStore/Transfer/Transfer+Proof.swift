internal import ResumeHTTP

/// Whether what is held is known to be of one representation.
extension Transfer {
    /// False where responses were put together without a validator, and no digest of the whole is compared.
    package var isProved: Bool {
        get async {
            if policy.hasDigest { return true }
            if isSpliced == nil { isSpliced = await wasSpliced() }
            return isSpliced == false
        }
    }

    /// Whether an earlier transfer put together what is held.
    ///
    /// The log has each of its decisions since the first response, unless that was too long ago.
    private func wasSpliced() async -> Bool {
        guard let representation = entry.representation, representation.validator == nil, receivedBytes > 0 else {
            return false
        }
        guard let events = try? await store.events(key: entry.key),
            let start = events.lastIndex(where: { $0.kind == .started || $0.kind == .restarted })
        else { return true }
        return events[start...].contains { $0.reason.code == Reason.resumedUnvalidatedCode }
    }
}

extension Reason {
    static func delivered(to place: String, isProved: Bool) -> Reason {
        Reason(
            code: .init(rawValue: "delivered"),
            text: "the complete file was delivered to \(place)"
                + (isProved ? "" : "; that it is one version is not proved, since the server sent no validator"))
    }
}
