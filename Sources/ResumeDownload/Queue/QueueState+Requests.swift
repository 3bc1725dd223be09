// Adding and cancelling requests.
extension QueueState {
    /// A request for a delivery.
    struct Addition {
        var request: DownloadRequest
        /// Its key in the store.
        var key: Key
        var destination: String
        /// The caller that waits for it; nil if it is wanted without one.
        var caller: Caller?
        var priority: DownloadQueue.Priority
        var isExclusive: Bool
    }

    /// Adds requests, in order, before any of them is started.
    mutating func add(_ additions: [Addition]) -> [Action] {
        for addition in additions { add(addition) }
        return schedule()
    }

    private mutating func add(_ new: Addition) {
        if let item = items[new.key] {
            revive(item, new)
        } else {
            let place = Line.Place(priority: new.priority, rank: line.newRank(), key: new.key)
            insert(Item(place: place, wish: .waiting))
        }
        var delivery = items[new.key]?.delivery(to: new.destination) ?? newDelivery(to: new.destination)
        delivery.hasFailed = false
        delivery.failure = nil
        if let caller = new.caller { delivery.callers.append(caller) } else { delivery.isKept = true }
        update(new.key) { $0.give(new.request, to: delivery) }
        if new.isExclusive { force(new.key) }
    }

    /// Updates an existing item for a further request.
    private mutating func revive(_ item: Item, _ new: Addition) {
        // A cancelled item is treated like a new one.
        let wasGivenUp = item.wish == .cancelled || item.wish == .dropping && item.deliveries.isEmpty
        // With last-in-first-out, a repeated request moves the item to the front; with first-in-first-out it stays.
        let moves = wasGivenUp || (line.order == .lastInFirstOut && item.run == nil)
        let rank = moves ? line.newRank() : item.place.rank
        update(new.key) {
            $0.place.priority = wasGivenUp ? new.priority : max($0.place.priority, new.priority)
            $0.place.rank = rank
            $0.run?.isLast = false
            switch $0.wish {
            case .cancelled, .restored, .failed: $0.wish = .waiting
            // A paused item stays paused unless the new request is forced.
            case .paused where new.isExclusive: $0.wish = .waiting
            case .paused, .waiting, .dropping, .downloading: break
            }
        }
    }

    /// Removes a caller; others keep waiting.
    ///
    /// If nothing else wants the item, it is cancelled softly.
    mutating func leave(_ caller: Caller, of key: Key) -> [Action] {
        guard let item = items[key], let left = item.deliveries.first(where: { $0.callers.contains(caller) }) else {
            return []
        }
        answer([caller], .left)
        let isWanted = left.isKept || left.callers.count > 1
        update(key) {
            $0.forEachDelivery { $0.callers.removeAll { $0 == caller } }
            $0.deliveries.removeAll { !$0.isWanted }
        }
        if isWanted || item.wish == .dropping { return takeActions() }
        lose([left.number], of: item)
        return schedule()
    }

    /// Goes on after deliveries of an item were removed: without the last one, it is cancelled softly.
    mutating func lose(_ deliveries: Set<Int>, of item: Item) {
        if deliveries.count == item.deliveries.count {
            giveUp(item.key, .cancelled)
        } else if let run = item.run, deliveries.contains(run.delivery) {
            stop(item.key)
        } else {
            settle(item.key)
        }
    }

    /// Cancels an item for all its callers.
    ///
    /// - Returns: nil if there is no such item.
    mutating func cancel(_ key: Key, _ cancellation: DownloadQueue.Cancellation) -> [Action]? {
        guard let item = items[key] else { return nil }
        answer(item.callers, .cancelled)
        if item.wish == .dropping {
            update(key) { $0.deliveries = [] }
            return takeActions()
        }
        let wish: Wish = cancellation == .discardingPartial ? .dropping : .cancelled
        giveUp(key, wish)
        if wish == .dropping, item.run == nil { actions.append(.drop(key)) }
        return schedule()
    }

    private mutating func giveUp(_ key: Key, _ wish: Wish) {
        unforce(key)
        update(key) {
            $0.wish = wish
            $0.deliveries = []
        }
        stop(key)
    }

    /// Records that an item's partial data was removed; the item starts again if it has been requested since.
    mutating func dropped(_ key: Key) -> [Action] {
        guard let item = items[key], item.wish == .dropping else { return [] }
        if item.deliveries.isEmpty { remove(key) } else { update(key) { $0.wish = .waiting } }
        return schedule()
    }
}
