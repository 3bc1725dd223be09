/// What a comparison of samples has shown.
package enum SampleVerdict: Sendable, Hashable {
    /// The server has the same bytes at all places, in this number of samples.
    case agree(samples: Int)
    /// The server has other bytes, or another file.
    case differ(Reason)
    /// The server did not send the bytes that were requested to be compared.
    case unproved(Reason)
}
