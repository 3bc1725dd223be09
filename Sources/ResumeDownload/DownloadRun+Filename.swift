internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// How the server calls the file, where it is asked.
extension DownloadRun {
    /// Goes on with the name that an earlier run was told.
    mutating func recallFilename(beside destination: Destination) async throws {
        guard request.usesServerFilename, let name = await transfer.recordedName(beside: destination) else { return }
        serverFilename = name
        _ = try named(destination)
    }

    /// Takes note of a name, before a byte of the body is read.
    mutating func takeFilename(from head: HTTPResponse, beside destination: Destination) async throws {
        guard request.usesServerFilename, let name = head.headerFields.suggestedFilename else { return }
        serverFilename = name
        try await transfer.setDestination(try named(destination))
    }

    /// The destination under that name; itself where there is none.
    func named(_ destination: Destination) throws -> Destination {
        try serverFilename.map { try destination.named($0) } ?? destination
    }
}
