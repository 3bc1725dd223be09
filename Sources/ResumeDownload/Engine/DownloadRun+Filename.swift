internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore

/// The name of the file, if the server may choose it.
extension DownloadRun {
    /// Returns the file for a representation.
    func destination(for representation: Representation?) -> Destination {
        request.usesServerFilename ? destination.named(byServer: representation?.suggestedFilename) : destination
    }

    /// Throws if the stored bytes could not be delivered under their name.
    ///
    /// Complete data is not checked here: its delivery detects whether the file was already delivered.
    func requireFreeNameOfHeld() async throws {
        let partial = await transfer.partial
        guard request.usesServerFilename, partial.access != .foreign, let held = partial.representation else { return }
        let destination = destination(for: held)
        let isComplete = await transfer.isComplete
        if request.restarts || !isComplete { try await requireFree(destination) }
        try await transfer.setDestination(destination)
    }

    /// Throws if a representation could not be delivered under its name, before anything is discarded for it.
    func requireFreeName(of representation: Representation) async throws {
        guard request.usesServerFilename else { return }
        try await requireFree(destination(for: representation))
    }

    private func requireFree(_ destination: Destination) async throws {
        try await Blocking.run { try destination.requireFree() }
    }
}
