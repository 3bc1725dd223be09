internal import Foundation

/// Parts of a body that wait, first in, first out.
struct PartQueue {
    private var incoming: [Data] = []
    /// The next ones, last first.
    private var outgoing: [Data] = []
    /// Bytes in all of them.
    private(set) var count = 0

    mutating func append(_ data: Data) {
        incoming.append(data)
        count += data.count
    }

    mutating func popFirst() -> Data? {
        if outgoing.isEmpty {
            outgoing = incoming.reversed()
            incoming = []
        }
        let data = outgoing.popLast()
        count -= data?.count ?? 0
        return data
    }
}
