package import ResumeHTTP

// Pausing, limits, and restoring items of an earlier process.
extension QueueState {
    /// Pauses one item; its callers keep waiting.
    package mutating func pause(_ key: Key) -> [Action]? {
        let wish = items[key]?.wish
        guard wish == .waiting || wish == .restored else { return wish == .paused ? [] : nil }
        // Stopped while it still wishes to run, so that it gets a rank before items that have not begun.
        stop(key)
        update(key) {
            $0.wish = .paused
            $0.isExclusive = false
        }
        return schedule()
    }

    /// Queues an item again that is paused, has failed, or was restored from an earlier process.
    ///
    /// - Returns: nil if the item does not exist or cannot continue.
    package mutating func resume(_ key: Key) -> [Action]? {
        guard let item = items[key], item.run != nil || item.deliveries.contains(where: \.isReady) else { return nil }
        guard [Wish.paused, .failed, .restored, .waiting].contains(item.wish) else { return nil }
        update(key) {
            $0.wish = .waiting
            $0.forEachDelivery { ($0.hasFailed, $0.failure) = (false, nil) }
        }
        return schedule()
    }

    /// Stops everything and starts nothing until ``resumeAll()``.
    package mutating func pauseAll() -> [Action] {
        isHeld = true
        for key in running.reversed() { stop(key) }
        return takeActions()
    }

    /// Resumes everything, including items that were paused individually, but not items that failed permanently.
    package mutating func resumeAll() -> [Action] {
        isHeld = false
        for item in items.values where item.wish == .paused && item.hasWork {
            update(item.key) {
                $0.wish = .waiting
                $0.forEachDelivery { $0.hasFailed = false }
            }
        }
        return schedule()
    }

    package mutating func setMaximumRunning(_ maximum: Int) -> [Action] {
        maximumRunning = max(maximum, 1)
        return schedule()
    }

    /// Forgets items that were cancelled softly.
    @discardableResult
    package mutating func releaseMemory() -> [Action] {
        for item in items.values where item.wish == .cancelled { forget(item) }
        return takeActions()
    }

    /// Stops everything permanently; unfinished items keep their state for the next process.
    package mutating func close() -> [Action] {
        isClosed = true
        for item in items.values {
            answer(item.callers, .closed)
            update(item.key) { $0.forEachDelivery { ($0.callers, $0.isKept) = ([], true) } }
        }
        for key in running.reversed() { stop(key) }
        return takeActions()
    }

    /// Adds an item of an earlier process that was paused, failed permanently, or is to continue.
    ///
    /// - Returns: The number of the delivery.
    @discardableResult
    package mutating func restore(
        _ new: Addition, rank: Int64, isPaused: Bool, failure: Reason? = nil, isReady: Bool
    ) -> Int {
        noteRank(rank)
        let wish: Wish = failure != nil ? .failed : isPaused ? .paused : .restored
        if items[new.key] == nil {
            insert(Item(key: new.key, priority: new.priority, rank: rank, wish: wish))
        }
        var delivery = newDelivery(to: new.destination, isKept: true, isReady: isReady)
        delivery.isRestored = true
        delivery.failure = failure
        update(new.key) {
            $0.deliveries.append(delivery)
            // If one delivery is to continue, the whole item does.
            if wish == .restored || $0.wish == .failed { $0.wish = wish }
        }
        if new.isExclusive, wish == .restored { force(new.key) }
        return delivery.number
    }

    /// Marks restored deliveries as having a request; those that were not paused wait for their turn.
    package mutating func supply(_ deliveries: [(key: Key, destination: String)]) -> [Action] {
        for (key, destination) in deliveries {
            update(key) {
                if let index = $0.index(of: destination) {
                    ($0.deliveries[index].isReady, $0.deliveries[index].isRestored) = (true, false)
                }
                if $0.wish == .restored, $0.hasWork { $0.wish = .waiting }
            }
        }
        return schedule()
    }

    /// Removes deliveries that cannot be recorded and answers their callers; removes the item with its last delivery.
    package mutating func reject(_ key: Key, _ rejected: Set<Int>) -> [Action] {
        let concerned = items[key]?.deliveries.filter { rejected.contains($0.number) } ?? []
        guard let item = items[key], !concerned.isEmpty else { return [] }
        answer(concerned.flatMap(\.callers), .outcome)
        update(key) { $0.deliveries.removeAll { rejected.contains($0.number) } }
        // An item that is being dropped is removed when that is done.
        if item.wish == .dropping { return takeActions() }
        lose(Set(concerned.map(\.number)), of: item)
        if concerned.count == item.deliveries.count { forget(item) }
        return schedule()
    }

    /// Removes an item as soon as it does not run.
    private mutating func forget(_ item: Item) {
        if item.run == nil { remove(item.key) } else { update(item.key) { $0.isForgotten = true } }
    }

    /// Whether a run exists and is not being stopped.
    package func isActive(_ key: Key, run number: Int) -> Bool {
        items[key].map { $0.isRunning && $0.run?.number == number } ?? false
    }
}
