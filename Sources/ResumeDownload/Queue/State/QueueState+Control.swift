package import ResumeHTTP

// Pausing, limits, and what an earlier process left.
extension QueueState {
    /// Pauses one item, whose callers wait on.
    package mutating func pause(_ key: Key) -> [Action]? {
        guard let item = items[key], item.wish == .waiting || item.wish == .restored else {
            return items[key]?.wish == .paused ? [] : nil
        }
        // Before its wish changes, so that it goes on before what has not begun.
        let stopping = stop(key)
        update(key) {
            $0.wish = .paused
            $0.isForced = false
        }
        return stopping + schedule()
    }

    /// Lets one item that is paused, has failed, or is of an earlier process, wait for its turn.
    ///
    /// - Returns: nil where there is none that can go on.
    package mutating func resume(_ key: Key) -> [Action]? {
        guard let item = items[key], item.run != nil || item.deliveries.contains(where: \.isReady) else { return nil }
        guard [Wish.paused, .failed, .restored, .waiting].contains(item.wish) else { return nil }
        update(key) {
            $0.wish = .waiting
            for index in $0.deliveries.indices {
                $0.deliveries[index].hasFailed = false
                $0.deliveries[index].failure = nil
            }
        }
        return schedule()
    }

    /// Stops everything, and starts nothing until ``resumeAll()``.
    package mutating func pauseAll() -> [Action] {
        isHeld = true
        return running.reversed().flatMap { stop($0) }
    }

    /// Goes on with everything, also with what was paused by itself; not with what failed for good.
    package mutating func resumeAll() -> [Action] {
        isHeld = false
        for item in items.values where item.wish == .paused && (item.next != nil || item.run != nil) {
            update(item.key) {
                $0.wish = .waiting
                for index in $0.deliveries.indices { $0.deliveries[index].hasFailed = false }
            }
        }
        return schedule()
    }

    package mutating func setMaximumRunning(_ maximum: Int) -> [Action] {
        maximumRunning = max(maximum, 1)
        return schedule()
    }

    /// Forgets what was given up softly.
    package mutating func releaseMemory() {
        for item in items.values where item.wish == .cancelled {
            if item.run == nil { remove(item.key) } else { update(item.key) { $0.isForgotten = true } }
        }
    }

    /// Stops everything for good; what is still to do stays as it is, for the next process.
    package mutating func close() -> [Action] {
        isClosed = true
        var actions: [Action] = []
        for item in items.values {
            actions += answer(item.callers, .closed)
            update(item.key) {
                for index in $0.deliveries.indices {
                    $0.deliveries[index].callers = []
                    $0.deliveries[index].isKept = true
                }
            }
        }
        return actions + running.reversed().flatMap { stop($0) }
    }

    /// Takes over what an earlier process left: paused, failed for good, or to go on with.
    ///
    /// - Returns: The number of the delivery.
    @discardableResult
    package mutating func restore(
        _ new: Addition, rank: Int64, isPaused: Bool, failure: Reason? = nil, isReady: Bool
    ) -> Int {
        noteRank(rank)
        let wish: Wish = failure != nil ? .failed : isPaused ? .paused : .restored
        if items[new.key] == nil { insert(Item(key: new.key, priority: new.priority, rank: rank, wish: wish)) }
        var delivery = newDelivery(to: new.destination, isKept: true, isReady: isReady)
        delivery.isRestored = true
        delivery.failure = failure
        update(new.key) {
            $0.deliveries.append(delivery)
            // What is to go on goes on beside what is not.
            if wish == .restored || $0.wish == .failed { $0.wish = wish }
        }
        if new.isForced, wish == .restored { force(new.key) }
        return delivery.number
    }

    /// There are requests for what an earlier process left; what it did not pause waits for its turn.
    package mutating func supply(_ deliveries: [(key: Key, destination: String)]) -> [Action] {
        for (key, destination) in deliveries {
            update(key) {
                if let index = $0.index(of: destination) {
                    $0.deliveries[index].isReady = true
                    $0.deliveries[index].isRestored = false
                }
                if $0.wish == .restored, $0.next != nil || $0.run != nil { $0.wish = .waiting }
            }
        }
        return schedule()
    }
}

extension QueueState {
    /// Lets deliveries go that cannot be recorded, and tells their callers; an item goes with the last one.
    package mutating func reject(_ key: Key, _ rejected: Set<Int>) -> [Action] {
        let concerned = items[key]?.deliveries.filter { rejected.contains($0.number) } ?? []
        guard let item = items[key], !concerned.isEmpty else { return [] }
        var actions = answer(concerned.flatMap(\.callers), .outcome)
        update(key) { $0.deliveries.removeAll { rejected.contains($0.number) } }
        // What is being dropped goes when it is.
        if item.wish == .dropped { return actions }
        if concerned.count == item.deliveries.count {
            actions += giveUp(key, .cancelled)
            if item.run == nil { remove(key) } else { update(key) { $0.isForgotten = true } }
        } else if let run = item.run, rejected.contains(run.delivery) {
            actions += stop(key)
        } else {
            settle(key)
        }
        return actions + schedule()
    }

    /// Whether a run is to go on.
    package func isActive(_ key: Key, run number: Int) -> Bool {
        let run = items[key]?.run
        return run?.number == number && run?.isStopping == false
    }
}
