package import HTTPTypes

/// What the response to a conditional request says about a file that was delivered earlier.
package enum DeliveredVerdict: Sendable, Hashable {
    /// The server still has this file: nothing is received.
    case unchanged
    /// The response contradicts itself: ask again later.
    case contradiction(Reason)
    /// Request the file without its validators: those of another resource prove nothing.
    case otherResource
    /// Judge the response like that to any other request.
    case unknown

    /// Judges a response, which may come from the same resource as the file.
    package init(for response: HTTPResponse, delivered: Representation, isSameResource: Bool = true) {
        let fresh = Representation(announcedBy: response)
        switch response.status.code {
        case 304:
            let isSame = fresh.entityTag.flatMap { tag in delivered.entityTag.map(tag.resembles) } ?? true
            self =
                !isSame ? .contradiction(.notModifiedWithOtherTag) : isSameResource ? .unchanged : .otherResource
        case 200:
            // The server has ignored the condition.
            let isSame = fresh.entityTag.map { !$0.isWeak && $0 == delivered.entityTag } ?? false
            self = isSame && isSameResource && fresh.completeLength == delivered.completeLength ? .unchanged : .unknown
        default:
            self = .unknown
        }
    }
}
