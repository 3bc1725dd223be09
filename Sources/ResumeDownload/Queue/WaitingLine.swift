extension QueueState {
    /// The items that wait to run, sorted for each host.
    struct Line {
        /// A place in the line.
        struct Place: Comparable {
            var priority: DownloadQueue.Priority
            /// Ranks read from the store may be equal; then the keys decide.
            var rank: Int64
            let key: String

            static func < (left: Place, right: Place) -> Bool {
                (left.priority, left.rank, left.key) < (right.priority, right.rank, right.key)
            }
        }

        let order: DownloadQueue.Order
        /// The places by host; the last one of a host runs next.
        private var places: [String: [Place]] = [:]
        /// The lowest and the highest rank so far.
        private var ranks: ClosedRange<Int64> = 0...0

        init(order: DownloadQueue.Order) { self.order = order }

        var isEmpty: Bool { places.isEmpty }
        /// All places, next one first.
        var sorted: [Place] { places.values.joined().sorted(by: >) }

        /// Returns the one that runs next, of the hosts that have room.
        func next(where hasRoom: (String) -> Bool) -> Place? {
            places.compactMap { host, places in hasRoom(host) ? places.last : nil }.max()
        }

        mutating func insert(_ place: Place, at host: String) {
            places[host, default: []].insert(place)
        }

        mutating func remove(_ place: Place, at host: String) {
            places[host]?.remove(place)
            if places[host]?.isEmpty == true { places[host] = nil }
        }

        /// Returns a rank before all others.
        mutating func topRank() -> Int64 {
            noteRank(ranks.upperBound + 1)
            return ranks.upperBound
        }

        /// Returns the rank of a new item.
        mutating func newRank() -> Int64 {
            guard order == .firstInFirstOut else { return topRank() }
            noteRank(ranks.lowerBound - 1)
            return ranks.lowerBound
        }

        /// Extends the range of known ranks by one that an earlier process assigned.
        mutating func noteRank(_ rank: Int64) {
            ranks = min(ranks.lowerBound, rank)...max(ranks.upperBound, rank)
        }
    }
}

/// Sorted places.
extension [QueueState.Line.Place] {
    fileprivate mutating func insert(_ place: Element) { insert(place, at: index(of: place)) }

    fileprivate mutating func remove(_ place: Element) {
        let index = index(of: place)
        if index < endIndex, self[index].key == place.key { remove(at: index) }
    }

    /// The first index whose place is not before the given one.
    private func index(of place: Element) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle] < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
