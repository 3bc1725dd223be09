extension QueueState {
    /// The items that wait to run, sorted; the last one runs next.
    struct Line: Sendable {
        /// A place in the line.
        struct Place: Sendable, Comparable {
            var priority: DownloadQueue.Priority
            /// Ranks read from the store may be equal; then the keys decide.
            var rank: Int64
            let key: String

            static func < (left: Place, right: Place) -> Bool {
                (left.priority, left.rank, left.key) < (right.priority, right.rank, right.key)
            }
        }

        let order: DownloadQueue.Order
        private(set) var places: [Place] = []
        /// The lowest and the highest rank so far.
        private var ranks: ClosedRange<Int64> = 0...0

        init(order: DownloadQueue.Order) { self.order = order }

        var isEmpty: Bool { places.isEmpty }

        /// Removes and returns the one that runs next.
        mutating func takeNext() -> Place? { places.popLast() }

        mutating func insert(_ place: Place) {
            places.insert(place, at: index(of: place))
        }

        mutating func remove(_ place: Place) {
            let index = index(of: place)
            if index < places.endIndex, places[index].key == place.key { places.remove(at: index) }
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

        /// The first index whose place is not before the given one.
        private func index(of place: Place) -> Int {
            var low = places.startIndex
            var high = places.endIndex
            while low < high {
                let middle = low + (high - low) / 2
                if places[middle] < place { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }
}
