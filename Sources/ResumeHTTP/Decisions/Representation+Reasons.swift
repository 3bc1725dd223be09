extension Representation {
    /// Why there is no ``validator``; nil if there is one.
    package var weakness: Reason? {
        guard validator == nil else { return nil }
        if let entityTag { return entityTag.isQuoted ? .weakEntityTag : .unquotedEntityTag }
        guard let lastModified else { return .noValidator }
        let areDates = HTTPDate(lastModified) != nil && date.flatMap { HTTPDate($0) } != nil
        return areDates ? .dateTooFresh : .dateUnusable
    }

    /// Returns why a response with the same validator belongs to another representation; nil if nothing indicates that.
    ///
    /// Some servers keep an entity tag when the file changes. A field that only one of the two has is not a
    /// contradiction, since a 206 may omit fields (RFC 9110, 15.3.7). The content coding is an exception: some servers
    /// send ranges of the uncoded file with the tag of the coded one.
    func contradiction(in response: Representation) -> Reason? {
        guard response.contentCoding == contentCoding else {
            return .codingChanged(from: contentCoding, to: response.contentCoding)
        }
        if HTTPDigest.contradict(reprDigest, response.reprDigest) { return .digestChanged }
        if let mediaType, let new = response.mediaType, new != mediaType { return .contentTypeChanged }
        if let lastModified, let new = response.lastModified, !HTTPDate.isSame(lastModified, new) {
            return .dateContradictsTag
        }
        return nil
    }
}
