import ResumeStore

// Pausing, limits, and restoring items of an earlier process.
extension QueueState {
    /// Pauses one item; its callers keep waiting.
    mutating func pause(_ key: Key) -> [Action]? {
        let wish = items[key]?.wish
        guard wish == .waiting || wish == .restored else { return wish == .paused ? [] : nil }
        // Stopped while it still wishes to run, so that it gets a rank before items that have not begun.
        stop(key)
        unforce(key)
        update(key) { $0.wish = .paused }
        return schedule()
    }

    /// Queues an item again that is paused, has failed, or was restored from an earlier process.
    ///
    /// - Returns: nil if the item does not exist or cannot continue.
    mutating func resume(_ key: Key) -> [Action]? {
        guard let item = items[key], item.run != nil || item.deliveries.contains(where: \.isReady) else {
            return nil
        }
        guard [Wish.paused, .failed, .restored, .waiting].contains(item.wish) else { return nil }
        update(key) {
            $0.wish = .waiting
            $0.forEachDelivery { ($0.hasFailed, $0.failure) = (false, nil) }
        }
        return schedule()
    }

    /// Stops everything and starts nothing until ``resumeAll()``.
    mutating func pauseAll() -> [Action] {
        isHeld = true
        for key in running.reversed() { stop(key) }
        return takeActions()
    }

    /// Resumes everything, including items that were paused individually, but not items that failed permanently.
    mutating func resumeAll() -> [Action] {
        isHeld = false
        for item in items.values where item.wish == .paused && item.hasWork {
            update(item.key) {
                $0.wish = .waiting
                $0.forEachDelivery { $0.hasFailed = false }
            }
        }
        return schedule()
    }

    mutating func setMaximumRunning(_ maximum: Int) -> [Action] {
        slots.count = max(maximum, 1)
        return schedule()
    }

    /// Forgets items that were cancelled softly.
    @discardableResult
    mutating func releaseMemory() -> [Action] {
        for item in items.values where item.wish == .cancelled { forget(item) }
        return takeActions()
    }

    /// Stops everything permanently; unfinished items keep their state for the next process.
    mutating func close() -> [Action] {
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
    /// - Parameters:
    ///   - row: The row of a delivery.
    ///   - rank: Its rank.
    ///   - request: The recorded request; nil if it could not be stored.
    mutating func restore(_ row: Job, rank: Int64, _ request: DownloadRequest?) {
        line.noteRank(rank)
        let wish: Wish = row.failure != nil ? .failed : row.state == .paused ? .paused : .restored
        if items[row.key] == nil {
            let priority = DownloadQueue.Priority(rawValue: Int(clamping: row.priority)) ?? .normal
            let progress = Listeners.Progress(receivedBytes: row.receivedBytes, totalBytes: row.totalBytes)
            insert(
                Item(
                    place: .init(priority: priority, rank: rank, key: row.key), wish: wish, url: row.url,
                    listeners: Listeners(progress)))
        }
        var recorded = row
        recorded.receivedBytes = 0
        recorded.totalBytes = nil
        let delivery = Delivery(
            number: newNumber(), destination: row.destination, isKept: true, request: request, row: recorded,
            isRestored: true, failure: row.failure)
        update(row.key) {
            $0.deliveries.append(delivery)
            $0.lastFailure = $0.lastFailure ?? row.failure
            // If one delivery is to continue, the whole item does.
            if wish == .restored || $0.wish == .failed { $0.wish = wish }
        }
        if row.isExclusive, wish == .restored { force(row.key) }
    }

    /// Sets the requests of restored deliveries; those that were not paused wait for their turn.
    mutating func supply(_ requests: [(key: Key, delivery: Int, DownloadRequest)]) -> [Action] {
        for (key, number, request) in requests {
            update(key) {
                if let delivery = $0[number] { $0.give(request, to: delivery) }
                if $0.wish == .restored, $0.hasWork { $0.wish = .waiting }
            }
        }
        return schedule()
    }

    /// Removes deliveries that cannot be recorded and answers their callers; removes the item with its last delivery.
    mutating func reject(_ key: Key, _ rejected: Set<Int>) -> [Action] {
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
        if item.run == nil { remove(item.key) } else { update(item.key) { $0.run?.isLast = true } }
    }
}
