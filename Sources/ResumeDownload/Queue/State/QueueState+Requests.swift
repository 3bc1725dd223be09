// What is asked for.
extension QueueState {
    /// A request for a delivery.
    package struct Addition: Sendable {
        package var key: Key
        package var destination: String
        /// Who waits for it; nil where it is wanted anyway.
        package var caller: Caller?
        package var priority = QueuePriority.normal
        package var isForced = false

        package init(
            _ key: Key, to destination: String, caller: Caller? = nil, priority: QueuePriority = .normal,
            isForced: Bool = false
        ) {
            self.key = key
            self.destination = destination
            self.caller = caller
            self.priority = priority
            self.isForced = isForced
        }
    }

    /// Takes requests, in their order, before any of them is started.
    package mutating func add(_ additions: [Addition]) -> [Action] {
        for addition in additions { add(addition) }
        return schedule()
    }

    private mutating func add(_ new: Addition) {
        if let item = items[new.key] {
            revive(item, new)
        } else {
            insert(Item(key: new.key, priority: new.priority, rank: newRank(), wish: .waiting))
        }
        let index = items[new.key]?.index(of: new.destination)
        var delivery =
            index.flatMap { items[new.key]?.deliveries[$0] }
            ?? newDelivery(to: new.destination, isKept: false, isReady: true)
        delivery.isReady = true
        delivery.isRestored = false
        delivery.hasFailed = false
        delivery.failure = nil
        if let caller = new.caller { delivery.callers.append(caller) } else { delivery.isKept = true }
        update(new.key) {
            if let index { $0.deliveries[index] = delivery } else { $0.deliveries.append(delivery) }
        }
        if let caller = new.caller { enlist(caller, for: new.key) }
        if new.isForced { force(new.key) }
    }

    /// What a further request does to an item that is there.
    private mutating func revive(_ item: Item, _ new: Addition) {
        // What was given up is nobody's wish any more.
        let wasGivenUp = item.wish == .cancelled || item.wish == .dropped && item.deliveries.isEmpty
        // In a stack the newest wish comes first; who stands in a row stays there.
        let moves = wasGivenUp || (order == .lastInFirstOut && item.run == nil)
        let rank = moves ? newRank() : item.rank
        update(new.key) {
            $0.priority = wasGivenUp ? new.priority : max($0.priority, new.priority)
            $0.rank = rank
            $0.isForgotten = false
            switch $0.wish {
            case .cancelled, .restored, .failed: $0.wish = .waiting
            // Who paused it decides when it goes on, unless it is urgent.
            case .paused where new.isForced: $0.wish = .waiting
            case .paused, .waiting, .dropped: break
            }
        }
    }

    /// A caller does not wait any more; the others do.
    ///
    /// The last one's wish was the item's: without it the item is given up softly.
    package mutating func leave(_ caller: Caller) -> [Action] {
        guard let key = dismiss(caller) else { return [] }
        var actions = [Action.answer([caller], .left)]
        guard let item = items[key], let left = item.deliveries.first(where: { $0.callers.contains(caller) }) else {
            return actions
        }
        let isWanted = left.isKept || left.callers.count > 1
        update(key) {
            for index in $0.deliveries.indices { $0.deliveries[index].callers.removeAll { $0 == caller } }
            if !isWanted { $0.deliveries.removeAll { $0.number == left.number } }
        }
        if isWanted || item.wish == .dropped { return actions }
        if item.deliveries.count == 1 {
            actions += giveUp(key, .cancelled)
        } else if item.run?.delivery == left.number {
            actions += stop(key)
        } else {
            settle(key)
        }
        return actions + schedule()
    }

    /// Gives an item up for all its callers.
    ///
    /// - Returns: nil where there is no such item.
    package mutating func cancel(_ key: Key, _ cancellation: QueueCancellation) -> [Action]? {
        guard let item = items[key] else { return nil }
        var actions = answer(item.callers, .cancelled)
        if item.wish == .dropped {
            update(key) { $0.deliveries = [] }
            return actions
        }
        let wish: Wish = cancellation == .hard ? .dropped : .cancelled
        actions += giveUp(key, wish)
        if wish == .dropped, item.run == nil { actions.append(.drop(key)) }
        return actions + schedule()
    }

    mutating func giveUp(_ key: Key, _ wish: Wish) -> [Action] {
        update(key) {
            $0.wish = wish
            $0.isForced = false
            $0.deliveries = []
        }
        return stop(key)
    }

    /// What came of an item was dropped; it begins anew where somebody has asked for it meanwhile.
    package mutating func dropped(_ key: Key) -> [Action] {
        guard let item = items[key], item.wish == .dropped else { return [] }
        if item.deliveries.isEmpty { remove(key) } else { update(key) { $0.wish = .waiting } }
        return schedule()
    }
}
