// What runs.
extension QueueState {
    /// Starts what may run and stops what may not.
    mutating func schedule() -> [Action] {
        guard !isHeld, !isClosed else { return [] }
        var actions: [Action] = []
        if let forced, let item = items[forced], item.isUnderWay {
            for other in running.reversed() where other != forced { actions += stop(other) }
            if item.run == nil, running.isEmpty { actions += start(forced) }
            return actions
        }
        // Where the limit was lowered, what began last makes room.
        let active = running.filter { items[$0]?.run?.isStopping == false }
        for surplus in active.dropFirst(maximumRunning).reversed() { actions += stop(surplus) }
        while running.count < maximumRunning, let next = line.takeNext() { actions += start(next.key) }
        return actions
    }

    private mutating func start(_ key: Key) -> [Action] {
        guard let delivery = items[key]?.next else { return [] }
        lastRun += 1
        let run = Run(number: lastRun, destination: delivery.destination, delivery: delivery.number)
        update(key) { $0.run = run }
        running.append(key)
        return [.start(key, run)]
    }

    /// Stops a run; its item waits for its turn before all others, if it still is to run.
    mutating func stop(_ key: Key) -> [Action] {
        guard let item = items[key], item.run?.isStopping == false else { return [] }
        let rank = item.wish == .waiting ? topRank() : item.rank
        update(key) {
            $0.run?.isStopping = true
            $0.rank = rank
        }
        return [.stop(key)]
    }

    /// Takes note that a run has ended.
    package mutating func ended(_ key: Key, run number: Int, _ ending: Ending) -> [Action] {
        guard let item = items[key], let run = item.run, run.number == number else { return [] }
        running.removeAll { $0 == key }
        update(key) { $0.run = nil }
        var actions: [Action] = []
        switch ending {
        case .delivered: actions += delivered(key, run.delivery)
        // What fails while it is stopped fails for that.
        case .failed(let isOfDestination) where !run.isStopping:
            actions += failed(key) { !isOfDestination || $0.number == run.delivery }
        case .failed, .stopped: settle(key)
        }
        switch items[key]?.wish {
        case .dropped: actions.append(.drop(key))
        case .cancelled where item.isForgotten: remove(key)
        default: break
        }
        return actions + schedule()
    }

    /// Only the delivery that the run was for: one that was asked for meanwhile may ask for something else.
    private mutating func delivered(_ key: Key, _ number: Int) -> [Action] {
        guard let item = items[key] else { return [] }
        let callers = item.deliveries.first { $0.number == number }?.callers ?? []
        let rank = item.wish == .waiting ? topRank() : item.rank
        update(key) {
            $0.deliveries.removeAll { $0.number == number }
            $0.rank = rank
        }
        if item.wish == .cancelled, items[key]?.deliveries.isEmpty == true { remove(key) }
        settle(key)
        return answer(callers, .outcome)
    }

    /// Tells the callers of deliveries that failed; what is wanted without a caller stays, paused.
    mutating func failed(_ key: Key, where isConcerned: (Delivery) -> Bool = { _ in true }) -> [Action] {
        guard let item = items[key] else { return [] }
        let concerned = item.deliveries.filter(isConcerned)
        let isWhole = concerned.count == item.deliveries.count
        let kept = concerned.filter { isWhole && $0.isKept && $0.callers.isEmpty }
        let told = Set(concerned).subtracting(kept)
        update(key) {
            $0.deliveries.removeAll { told.contains($0) }
            guard !kept.isEmpty, $0.wish == .waiting else { return }
            $0.wish = .paused
            $0.isForced = false
        }
        settle(key)
        return answer(told.flatMap(\.callers).sorted(), .outcome)
    }

    /// Removes an item that has nothing to deliver any more, unless it waits for somebody to ask for it again; one with
    /// nothing but requests of an earlier process waits for those.
    mutating func settle(_ key: Key) {
        guard let item = items[key], item.run == nil, item.next == nil else { return }
        switch item.wish {
        case .cancelled, .dropped: break
        case .waiting, .paused, .restored:
            if item.deliveries.isEmpty { return remove(key) }
            if item.wish == .waiting { update(key) { $0.wish = .restored } }
        }
    }
}
