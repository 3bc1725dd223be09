/// The items that wait to run, sorted; the last one runs next.
struct WaitingLine: Sendable {
    /// A place in the line.
    struct Place: Sendable, Comparable {
        var isExclusive: Bool
        var priority: DownloadQueue.Priority
        /// Ranks read from the store may be equal; then the keys decide.
        var rank: Int64
        var key: String

        static func < (left: Place, right: Place) -> Bool {
            if left.isExclusive != right.isExclusive { return right.isExclusive }
            return (left.priority, left.rank, left.key) < (right.priority, right.rank, right.key)
        }
    }

    private(set) var places: [Place] = []

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
