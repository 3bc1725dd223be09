public import ResumeHTTP
internal import ResumeSQLite

extension ResumeData {
    /// Names what an entry holds by its row; nil where the next request could not ask for the rest only.
    package init?(of entry: Entry, policy: ResumePolicy) {
        self.init(of: entry, held: entry.held, receivedBytes: entry.receivedBytes, policy: policy)
    }

    /// Names what is held of an entry; nil where the next request could not ask for the rest only.
    init?(of entry: Entry, held: HeldPartial, receivedBytes: Int64, policy: ResumePolicy) {
        // What the server has not said that this caller may have is no data of this caller's.
        guard held.access != .foreign else { return nil }
        switch Plan(for: held, policy: policy) {
        case .whole, .first: return nil
        case .range, .complete: break
        }
        // Coded bytes are dropped by whoever asks for the file itself.
        guard held.representation?.contentCoding == nil || policy.storesCoded else { return nil }
        let key = DownloadStore.callersKey(entry.name, entry.selection) ?? entry.name
        self.init(
            url: entry.url, key: key, selection: entry.selection,
            validator: held.representation?.validator, receivedBytes: receivedBytes, totalBytes: held.totalLength)
    }

    /// Why what is held is not what this was made of; nil where it is, or may be.
    package func mismatch(with held: HeldPartial) -> Reason? {
        if held.isEmpty, !held.hasAllBytes { return .partialGone }
        guard let validator, held.representation?.validator != validator else { return nil }
        return .otherRepresentationHeld
    }
}

extension Reason {
    static let partialGone = Reason(
        code: .init(rawValue: "partial-gone"),
        text:
            "the store no longer has the partial data that the resume data names: it was delivered or removed, "
            + "or this is a different store")
    static let otherRepresentationHeld = Reason(
        code: .init(rawValue: "other-representation-held"),
        text: "the store now holds a different version of the file than the resume data names")
}

extension DownloadStore {
    /// What names a download, to go on with it later, whether somebody works on it now or not.
    ///
    /// - Parameters:
    ///   - key: What names the download; by default its URL without user info and signature.
    ///   - selection: What of it is wanted; nil for all of it.
    ///   - policy: On which terms it will be continued.
    /// - Returns: nil where nothing is held, or where what is held cannot be gone on with, for want of a validator or
    ///   since the server serves no ranges.
    /// - Throws: ``StoreError``
    public func resumeData(
        for key: String, selection: RangeSelection? = nil, policy: ResumePolicy = ResumePolicy()
    ) async throws -> ResumeData? {
        let name = Self.key(DownloadURL.redactedKey(key), selection)
        return try await entry(named: name, for: nil).flatMap { ResumeData(of: $0, policy: policy) }
    }

    /// What is held of a download that a request is most likely to go on with.
    ///
    /// To its end also where the task is cancelled: that is when this is asked for.
    package func entry(named name: String, for identity: RequestIdentity?) async throws -> Entry? {
        let identityKey = identityKey
        return try await readToEnd { connection in
            try connection.entry(named: name, for: identity, key: identityKey)
        }
    }
}

extension Transfer {
    /// What names what is held, to go on with it later; nil where nothing is, or where it cannot be gone on with.
    public var resumeData: ResumeData? {
        ResumeData(of: entry, held: partial, receivedBytes: receivedBytes, policy: policy)
    }
}
