@testable import ResumeDownload
import ResumeHTTP
import ResumeStore

/// Requests and rows for the state machine, of which only keys, destinations and states matter here.
extension QueueState.Addition {
    init(
        _ key: String, to destination: String, caller: Int? = nil, priority: DownloadQueue.Priority = .normal,
        isExclusive: Bool = false, at host: String = "h"
    ) {
        guard let url = try? DownloadURL("http://\(host)/f") else { preconditionFailure("not a URL") }
        var request = DownloadRequest(url, to: destination)
        request.key = key
        self.init(
            request: request, key: request.storeKey, destination: destination, caller: caller, priority: priority,
            isExclusive: isExclusive)
    }
}

extension QueueState.Item {
    /// The destination that the run is for.
    var runDestination: String? { run.flatMap { self[$0.delivery]?.destination } }
}

extension QueueState {
    var maximumRunning: Int { slots.count }

    /// Whether the run of an item waits without a place.
    func waits(_ item: Item) -> Bool { item.run.map { !slots.hasPlace($0.number) } ?? false }

    mutating func restore(_ new: Addition, rank: Int64, isPaused: Bool, failure: Reason? = nil, isReady: Bool) {
        let row = Job(
            key: new.key, url: "http://h/f", destination: new.destination, state: isPaused ? .paused : .waiting,
            priority: 0, isExclusive: new.isExclusive, position: rank, terms: nil, failure: failure)
        restore(row, rank: rank, isReady ? new.request : nil)
    }

    mutating func supply(_ deliveries: [(key: String, destination: String)]) -> [Action] {
        supply(
            deliveries.map { key, destination in
                let delivery = items[key]?.deliveries.first { $0.destination == destination }
                return (key, delivery?.number ?? 0, Addition(key, to: destination).request)
            })
    }
}
