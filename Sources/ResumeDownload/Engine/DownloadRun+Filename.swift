internal import ResumeHTTP
internal import ResumeStore

/// What the file is called, where the server is asked.
extension DownloadRun {
    /// The file that a representation becomes.
    func destination(for representation: Representation?) -> Destination {
        request.usesServerFilename ? destination.named(byServer: representation?.suggestedFilename) : destination
    }

    /// Refuses to go on with what could not be delivered under the name that it was given.
    ///
    /// What is there whole is delivered, which finds out whether it was already.
    func requireFreeNameOfHeld() async throws {
        let partial = await transfer.partial
        guard request.usesServerFilename, partial.access != .foreign, let held = partial.representation else { return }
        let destination = destination(for: held)
        let isComplete = await transfer.isComplete
        if request.restarts || !isComplete { try await requireFree(destination) }
        try await transfer.setDestination(destination)
    }

    /// Refuses what could not be delivered under the name that it was given, before anything is given up for it.
    func requireFreeName(of representation: Representation) async throws {
        guard request.usesServerFilename else { return }
        try await requireFree(destination(for: representation))
    }

    private func requireFree(_ destination: Destination) async throws {
        try await Blocking.run { try destination.requireFree() }
    }
}

extension Verdict {
    /// What goes into a new blob, and why; nil where nothing does.
    var begun: (representation: Representation, reason: Reason)? {
        switch self {
        case .startOver(let representation, let reason): (representation, reason)
        case .startRange(let continuation): (continuation.representation, continuation.reason)
        default: nil
        }
    }
}
