import ResumeHTTP

// Starting and ending runs.
extension QueueState {
    /// Starts the items that may run and stops those that may not.
    ///
    /// - Returns: These and all earlier actions.
    mutating func schedule() -> [Action] {
        guard !isHeld, !isClosed else { return takeActions() }
        if let forced, let item = items[forced], item.isUnderWay {
            for other in running.reversed() where other != forced { stop(other) }
            if item.run == nil, running.isEmpty { start(forced) }
            return takeActions()
        }
        // If the limit was lowered, the most recent starts are stopped.
        let active = running.filter { items[$0]?.run.map { !$0.isStopping && slots.hasPlace($0.number) } ?? false }
        for surplus in active.dropFirst(slots.count).reversed() { stop(surplus) }
        while slots.mayAdmit, let next = line.next(where: { slots.hasRoom(at: $0) }) { start(next.key) }
        return takeActions()
    }

    private mutating func start(_ key: Key) {
        guard let item = items[key], let delivery = item.next else { return }
        let run = Run(number: Int64(newNumber()), delivery: delivery.number, callers: Set(delivery.callers))
        _ = slots.admit(run.number, at: host(of: item))
        update(key) { $0.run = run }
        running.append(key)
        actions.append(.start(key))
    }

    /// Stops a run; if its item is still to run, it waits before all others.
    mutating func stop(_ key: Key) {
        guard let item = items[key], item.isRunning else { return }
        let rank = item.wish == .waiting ? line.topRank() : item.place.rank
        update(key) {
            $0.run?.isStopping = true
            $0.place.rank = rank
        }
        actions.append(.stop(key))
    }

    /// Records that a run has ended.
    mutating func ended(_ key: Key, run number: Int64, _ ending: Ending) -> [Action] {
        guard let item = items[key], let run = item.run, run.number == number else { return [] }
        running.removeAll { $0 == key }
        slots.end(number)
        update(key) { $0.run = nil }
        switch ending {
        case .delivered, .outdated: delivered(item, run, isOutdated: ending == .outdated)
        // A failure of a run that is being stopped is taken as the result of stopping it.
        case .failed(let isOfDestination, let spared, let reason) where !run.isStopping:
            failed(key, run, isOfDestination, sparing: spared, forGood: reason)
        case .failed, .stopped: settle(key)
        }
        switch items[key]?.wish {
        case .dropping: actions.append(.drop(key))
        case .cancelled where run.isLast: remove(key)
        default: break
        }
        return schedule()
    }

    /// Removes only the delivery that the run was for: one requested since may ask for something else.
    private mutating func delivered(_ item: Item, _ run: Run, isOutdated: Bool) {
        let key = item.key
        var told: [Caller] = []
        let rank = item.wish == .waiting ? line.topRank() : item.place.rank
        update(key) { item in
            item.place.rank = rank
            guard let index = item.deliveries.firstIndex(where: { $0.number == run.delivery }) else { return }
            told = isOutdated ? item.deliveries[index].takeCallers(of: run) : item.deliveries[index].callers
            if !isOutdated || !item.deliveries[index].isWanted { item.deliveries.remove(at: index) }
        }
        if item.wish == .cancelled, items[key]?.deliveries.isEmpty == true { remove(key) }
        settle(key)
        answer(told, .outcome)
    }

    /// Answers the callers of deliveries that failed; deliveries that are wanted without a caller stay, to be resumed.
    private mutating func failed(
        _ key: Key, _ run: Run, _ isOfDestination: Bool, sparing spared: Set<Int>, forGood reason: Reason?
    ) {
        var told: [Caller] = []
        update(key) { item in
            item.forEachDelivery { delivery in
                let isOwn = delivery.number == run.delivery
                let isSpared = isOfDestination ? !isOwn : spared.contains(delivery.number)
                if !isSpared {
                    told += delivery.callers
                    delivery.isKept = delivery.isKept && delivery.callers.isEmpty
                    delivery.hasFailed = delivery.isKept
                    if delivery.hasFailed { delivery.failure = reason }
                    delivery.callers = []
                } else if isOwn {
                    told += delivery.takeCallers(of: run)
                }
            }
            item.deliveries.removeAll { !$0.isWanted }
        }
        settle(key)
        answer(told.sorted(), .outcome)
    }

    /// Removes an item that has nothing left to deliver, unless it was cancelled and waits to be requested again.
    ///
    /// An item whose restored deliveries have no request yet waits for those. If only failed deliveries are left, the
    /// item is paused, or has failed if all of them failed permanently.
    mutating func settle(_ key: Key) {
        guard let item = items[key], !item.hasWork, item.wish != .cancelled, item.wish != .dropping else { return }
        if item.deliveries.isEmpty { return remove(key) }
        let hasFailed = item.deliveries.contains { $0.hasFailed && $0.failure == nil }
        update(key) {
            $0.forEachDelivery { $0.hasFailed = false }
            guard $0.wish == .waiting else { return }
            let isForGood = $0.deliveries.allSatisfy { $0.failure != nil }
            $0.wish = isForGood ? .failed : hasFailed ? .paused : .restored
        }
        if items[key]?.wish != .restored { unforce(key) }
    }
}
