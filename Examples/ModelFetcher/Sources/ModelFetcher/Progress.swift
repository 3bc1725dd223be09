import Resume

/// Reports the progress of one download: a line for each tenth, and every unusual event.
struct Progress {
    private let name: String
    private var tenths: Int64 = 0

    init(of name: String) {
        self.name = name
    }

    mutating func tell(_ event: DownloadEvent) {
        switch event {
        case .progress(let received, let total?) where total > 0:
            let tenths = Int64(Double(received) / Double(total) * 10)
            if tenths > self.tenths { say("\(tenths * 10) %") }
            self.tenths = tenths
        case .resumed(let offset, _): say("resumed at byte \(offset)")
        case .restarted(let reason, _): say("restarted: \(reason)")
        case .resumeDataOutdated(let reason): say("\(reason)")
        case .damaged(let reason): say("downloading damaged data again: \(reason)")
        case .retrying(let reason, let delay): say("\(reason); retrying in \(delay)")
        case .waiting: say("waiting for another process that is downloading it")
        default: break
        }
    }

    private func say(_ text: String) { ModelFetcher.say("\(name): \(text)") }
}
