import ArgumentParser
import ResumeDownload
import ResumeHTTP
import ResumeStore

/// `verify --remote`: compares samples of the stored bytes with the server's files.
extension VerifyCommand {
    func compareRemotely(_ context: CommandContext) async throws {
        var found: [Entry] = []
        try await context.withStore(storeOptions) { store in
            for name in entries { found.append(try await entry(name, in: store, context)) }
        }
        // As with 'resume', header fields are for one server.
        let origins = Set(found.compactMap { try? DownloadURL($0.url).origin }).sorted()
        guard headers.headers.isEmpty || origins.count < 2 else {
            throw CommandFailure(.usage, sentence("several-origins", origins.joined(separator: ", ")))
        }
        let trust = ConnectionTrust(connection)
        for entry in found { try trust.requireSame(for: entry) }
        let netrc = headers.fields[.authorization] == nil ? try familiar.netrc(context.environment) : nil
        var get = try GetCommand.parse(["--input-file", "-"])
        get.headers = headers
        get.connection = connection
        get.familiar = familiar
        get.storeOptions = storeOptions
        var problems = 0
        try await get.withDownloader(for: 1, context) { downloader, _, _ in
            for entry in found {
                var request = get.terms(try DownloadURL(entry.url))
                netrc?.authorize(&request)
                request.key = DownloadName.callersKey(entry.name, entry.selection) ?? entry.name
                request.selection = entry.selection
                let verdict = try await downloader.compare(request, variant: entry.variant)
                if case .agree = verdict {} else { problems += 1 }
                show(verdict, entry, context)
            }
        }
        guard problems == 0 else {
            let reason = sentence("server-differs", Rendering.problems(problems), Hint.run("get"))
            throw CommandFailure(.damaged, reason)
        }
    }

    private func show(_ verdict: SampleVerdict, _ entry: Entry, _ context: CommandContext) {
        let (result, members): (String, JSONObject) =
            switch verdict {
            case .agree(let count):
                (
                    sentence("bytes-agree", count, ByteCount.text(entry.receivedBytes)),
                    ["result": "agrees", "agreedSamples": count]
                )
            case .differ(let reason): ("differs: \(reason.text)", ["result": "differs", "detail": reason.text])
            case .unproved(let reason):
                ("cannot be compared: \(reason.text)", ["result": "not-compared", "detail": reason.text])
            }
        let key = Redaction.key(entry.key)
        let all = members.adding(["key": key, "receivedBytes": entry.receivedBytes])
        context.print(all, if: json, or: "\(key): \(result)")
    }
}
