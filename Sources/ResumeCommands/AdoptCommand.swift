import ArgumentParser
import ResumeDownload
import ResumeHTTP
import ResumeStore

struct AdoptCommand: ContextCommand {
    static let configuration = CommandConfiguration("adopt")

    @Argument(help: .of("adopt/path"), completion: .file()) var path: String
    @Argument(help: .of("adopt/url")) var url: String?
    @Option("o adopt/output", completion: .file()) var output: String?
    @Option("adopt/checksum") var checksum: String?
    @OptionGroup var headers: HeaderOptions
    @Flag("adopt/json") var json = false
    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var familiar: FamiliarOptions
    @OptionGroup var storeOptions: StoreOptions

    func validate() throws {
        try refuse(path.contains("://"), sentence("path-first"))
        _ = try get(url ?? "https://host/file")
    }

    /// The command `get` for the same download.
    private func get(_ url: String) throws -> GetCommand {
        var get = try GetCommand.parse(
            [url, "--from", path] + (output.map { ["--output", $0] } ?? [])
                + (checksum.map { ["--checksum", $0] } ?? []))
        get.headers = headers
        get.connection = connection
        get.familiar = familiar
        get.storeOptions = storeOptions
        return get
    }

    func run(_ context: CommandContext) async throws {
        try InputFile.requireReadable(path)
        guard let url = try url ?? ForeignPartial(examining: path).url?.absoluteString else {
            throw CommandFailure(.usage, sentence("adopt-no-url", path))
        }
        let get = try get(url)
        let list = try DownloadList(get, context)
        guard let item = try await list.next(most: 1).items.first else { return }
        let request = list.request(for: item)
        try await get.withDownloader(for: 1, context) { downloader, _, _ in
            let adoption = try await downloader.adopt(request)
            let (proof, members): (String, JSONObject)
            switch adoption.proof {
            case .digest: (proof, members) = ("complete, with the expected digest", ["proof": "digest"])
            case .samples(let count):
                proof = sentence("adopt-agrees", count)
                members = ["proof": "samples", "agreedSamples": count]
            case .pending(let reason):
                proof = "not compared yet, since \(reason.clause)"
                members = reason.members.adding(["proof": "none"])
            case .differs(let reason):
                if json { context.print(Self.json("differs", adoption, request).adding(reason.members)) }
                throw CommandFailure(.refused, "nothing was adopted: \(reason.text)")
            }
            // A job, so that `resume` continues it.
            let table = try await downloader.store.jobTable()
            try await table.record(request, as: 0)
            let place = try Destination(request.destination).path
            try await DeliveryRecords(of: downloader.store).permitReplacing([(place, request.url.redacted)])
            guard !json else { return context.print(Self.json("adopted", adoption, request).adding(members)) }
            let bytes = ByteCount.text(adoption.heldBytes, of: adoption.totalBytes)
            let command = Hint.run("resume", ShellWord.quoted(place))
            context.print(sentence("adopts", bytes, path, adoption.program.rawValue, proof, command))
        }
    }

    private static func json(_ event: String, _ adoption: Downloader.Adoption, _ request: DownloadRequest) -> JSONObject
    {
        [
            "event": event, "heldBytes": adoption.heldBytes, "key": request.storeKey,
            "program": adoption.program.rawValue, "totalBytes": adoption.totalBytes, "url": request.url.redacted,
        ]
    }
}
