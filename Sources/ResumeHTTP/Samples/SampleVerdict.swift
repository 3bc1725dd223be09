/// What a comparison of samples has shown.
package enum SampleVerdict: Sendable, Hashable {
    /// The server has the same bytes at all places, in this number of samples.
    case agree(samples: Int)
    /// The server has other bytes, or another file.
    case differ(Reason)
    /// The server did not send the bytes that were requested to be compared.
    case unproved(Reason)
}

extension Reason {
    static func samplesDiffer(at offset: Int64) -> Reason {
        Reason(
            .samplesDiffer,
            "the server's file differs from the stored bytes at byte \(offset), where samples were compared")
    }

    package static func samplesAgree(_ count: Int) -> Reason { Reason("samples-agree", with: count) }

    /// The samples of another address, or of another caller's request, differ.
    static let otherFile = Reason(.samplesDiffer)

    static let samplesUnanswered = Reason("spot-check-unanswered")
}
