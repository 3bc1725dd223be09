import Foundation
import HTTPTypes
import OriginServer
@testable import ReadmeExample
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")

    static func text(_ name: String) throws -> String {
        String(decoding: try Files.bytes(root.appendingPathComponent(name).standardizedFileURL.path), as: UTF8.self)
    }

    @Test(
        "The README's examples are those that are compiled here",
        arguments: ["ReadmeExample", "Pausing", "Streaming", "OwnClient"])
    func sameText(name: String) throws {
        let file = try Self.text("Tests/ReadmeExample/\(name).swift")
        let example = file.components(separatedBy: "// README\n")[1]
        #expect(try Self.text("README.md").contains("```swift\n\(example)```"))
    }

    @Test("What the README says of queues is what is compiled here")
    func sameQueue() throws {
        let example = try Self.text("Tests/ReadmeExample/Queue.swift").components(separatedBy: "    // README\n")[1]
        let lines = example.split(separator: "\n").map { String($0.dropFirst(4)) + "\n" }
        #expect(try Self.text("README.md").contains("```swift\n\(lines.joined())```"))
    }

    @Test("The README's example does what it says")
    func works() async throws {
        try await TemporaryFolder.with { folder in
            let content = Content(length: 1_000_000, seed: 4)
            let resource = Resource(content, etag: "\"v1\"")
            try await OriginServer.withServer(
                handler: { .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil) },
                { server in
                    try await fetchModel(
                        from: "\(server.baseURL)/model.bin", to: folder["model.bin"], cache: folder["cache"])
                    #expect(server.requests.count == 2)
                })
            let bytes = try Files.bytes(folder["model.bin"])
            #expect(bytes.count == 1_000_000 && content.matches(bytes))
        }
    }

    @Test("The examples of pausing and reading do what they say")
    func pausingAndReading() async throws {
        try await TemporaryFolder.with { folder in
            let resource = Resource(Content(length: 1_000_000, seed: 4), etag: "\"v1\"")
            try await OriginServer.withServer(
                handler: { .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil, stall: true) },
                { server in
                    let store = try await DownloadStore.open(at: folder["cache"])
                    let transport = AsyncHTTPTransport()
                    let downloader = Downloader(store: store, transport: transport)
                    let url = try DownloadURL("\(server.baseURL)/model.bin")
                    let request = DownloadRequest(url, to: folder["model.bin"])
                    try await pauseAndGoOn(request, with: downloader)
                    #expect(resource.content.matches(try Files.bytes(folder["model.bin"])))
                    #expect(server.requests.map { $0.field("Range") == nil } == [true, false])
                    var fed: [UInt8] = []
                    try await play(request, with: downloader) { fed += $0 }
                    #expect(fed.count == 1_000_064 && resource.content.matches(fed.dropLast(64)))
                    try await transport.shutdown()
                    await store.close()
                })
        }
    }

    @Test("The README's example with a client of one's own goes on after a cut")
    func ownClient() async throws {
        let content = sampleBytes(60_000)
        let images = MemoryStore()
        let ranges = Mutex<[String?]>([])
        let get = { (fields: HTTPFields) in
            let count = ranges.withLock { ranges in
                ranges.append(fields[.range])
                return ranges.count
            }
            return Self.answer(HonestServer(content).answer(fields), from: content, isCut: count == 1)
        }
        #expect(try await thumbnail("http://example.org/image.jpeg", in: images, get: get) == content)
        #expect(ranges.withLock { $0 } == [nil, "bytes=\(30_000 - 4096)-"])
    }

    private static func answer(
        _ answer: (head: HTTPResponse, body: Range<Int>), from content: [UInt8], isCut: Bool
    ) -> (HTTPResponse, AsyncThrowingStream<[UInt8], any Error>) {
        let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        continuation.yield(Array(content[answer.body].prefix(isCut ? 30_000 : .max)))
        continuation.finish(throwing: isCut ? CocoaError(.fileReadUnknown) : nil)
        return (answer.head, parts)
    }

    @Test("The products that the README names are there")
    func products() throws {
        let manifest = try Self.text("Package.swift")
        let lines = try Self.text("README.md").split(separator: "\n").filter { $0.hasPrefix(".product(name:") }
        #expect(lines.count == 4)
        for line in lines {
            let name = line.split(separator: "\"")[1]
            #expect(manifest.contains(".library(name: \"\(name)\", targets: [\"\(name)\"])"), "\(name)")
        }
    }

    @Test("Every make target and resumectl command that the README names is there")
    func commands() throws {
        let readme = try Self.text("README.md")
        let makefile = try Self.text("Makefile")
        for line in readme.split(separator: "\n") where line.hasPrefix("make ") {
            let target = line.split(separator: " ")[1]
            #expect(makefile.contains("\n\(target):"), "make \(target)")
        }
    }
}
