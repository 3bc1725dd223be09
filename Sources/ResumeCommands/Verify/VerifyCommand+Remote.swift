internal import ArgumentParser
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP
internal import ResumeStore

/// `verify --remote`: compares samples of the stored bytes with the server's files.
extension VerifyCommand {
    func compareRemotely(_ context: CommandContext) async throws {
        var found: [Entry] = []
        try await context.withStore(storeOptions.store) { store in
            for name in entries.names { found.append(try await entry(name, in: store, context)) }
        }
        guard let first = found.first else { return }
        // As with 'resume', header fields are for one server.
        let origins = Set(found.compactMap { try? DownloadURL($0.url).origin }).sorted()
        guard headers.headers.isEmpty || origins.count < 2 else {
            throw CommandFailure(
                .usage,
                "header fields are sent to one server only, and these entries are of several: "
                    + "\(origins.map { Printable.escaped($0) }.joined(separator: ", ")). Name the entries of one server."
            )
        }
        let trust = ConnectionTrust(connection)
        for entry in found { try trust.requireSame(for: entry) }
        let netrc = headers.setsAuthorization ? nil : try familiar.netrc(context.environment)
        var get = try GetCommand.parse([first.url, "--output", "unused"])
        (get.headers, get.connection, get.familiar, get.storeOptions) = (headers, connection, familiar, storeOptions)
        var problems = 0
        try await get.withDownloader(for: 1, context) { downloader, _, _ in
            for entry in found {
                var request = get.terms(try DownloadURL(entry.url))
                if let authorization = netrc?.authorization(for: request.url) {
                    request.headerFields[.authorization] = authorization
                }
                request.key = DownloadStore.callersKey(entry.name, entry.selection) ?? entry.name
                request.selection = entry.selection
                // It is not written.
                request.destination = "\(downloader.store.path)/unused"
                let verdict = try await downloader.compare(request)
                if case .agree = verdict {} else { problems += 1 }
                context.print(json ? Self.json(verdict, entry).json : Self.line(verdict, entry))
            }
        }
        guard problems == 0 else {
            throw CommandFailure(
                .damaged,
                "\(Rendering.problems(problems)) found. Nothing was changed: 'resumectl get' starts over where "
                    + "the server has another file.")
        }
    }

    private static func line(_ verdict: SampleVerdict, _ entry: Entry) -> String {
        let text =
            switch verdict {
            case .agree(let count):
                "\(count) samples of \(ByteCount.text(entry.receivedBytes)) agree with the server's file"
            case .differ(let reason): "differs: \(reason.text)"
            case .unproved(let reason): "cannot be compared: \(reason.text)"
            }
        return "\(Redaction.key(entry.key)): \(Printable.escaped(text))"
    }

    private static func json(_ verdict: SampleVerdict, _ entry: Entry) -> JSONObject {
        let result: JSONObject =
            switch verdict {
            case .agree(let count): ["result": "agrees", "agreedSamples": count]
            case .differ(let reason): ["result": "differs", "detail": reason.text]
            case .unproved(let reason): ["result": "not-compared", "detail": reason.text]
            }
        return result.adding(["key": Redaction.key(entry.key), "receivedBytes": entry.receivedBytes])
    }
}
