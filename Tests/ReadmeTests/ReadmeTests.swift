@testable import DocumentationExamples
import Foundation
import HTTPTypes
import OriginServer
@testable import ReadmeExample
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ReadmeTests {
    @Temporary private var folder
    private let servers = Servers()
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")

    static func text(_ name: String) throws -> String {
        String(decoding: try Files.bytes(root.appendingPathComponent(name).standardizedFileURL.path), as: UTF8.self)
    }

    @Test("The README has at most 150 lines, and its sections are in order")
    func order() throws {
        let lines = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 151)  // 150 lines and the end of the last one
        let sections = lines.filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
        #expect(
            sections == [
                "Download", "Embed it", "Why", "Try it", "How it works", "Read on", "Limitations",
            ])
    }

    @Test("D15: the README begins with who downloads: a clone, the installation, and two runs of get, in ten lines")
    func beginning() throws {
        let readme = try Self.text("README.md")
        let blocks = readme.components(separatedBy: "```")
        try #require(blocks.count > 2)
        let lines = blocks[1].split(separator: "\n").dropFirst()
        #expect(lines.count <= 10)
        let beginnings = ["git clone ", "make dist ", "resumectl get ", "resumectl get ", "resumectl resume"]
        for (line, beginning) in zip(lines, beginnings) { #expect(line.hasPrefix(beginning), "\(line)") }
        let rest = try #require(readme.components(separatedBy: "## Try it").last)
        #expect(try #require(rest.components(separatedBy: "\n## ").first).contains("\nmake test "))
    }

    @Test("Each ratio in the README is one of the measurements in docs")
    func figures() throws {
        let measured = try Self.text("docs/benchmarks.md") + Self.text("docs/small-files.md")
        let form = /The command-line tools were(?s:.)*?\n\n/
        let text = try #require(try Self.text("README.md").firstMatch(of: form)?.output)
        let ratios = text.matches(of: /\b\d+\.\d+\b/).map(\.output)
        #expect(ratios.count >= 10)
        for ratio in ratios { #expect(measured.contains(ratio), "\(ratio)") }
        for day in text.matches(of: /2\d{3}-\d\d-\d\d/).map(\.output) { #expect(measured.contains(day), "\(day)") }
    }

    @Test("The README's example resumes after a lost connection")
    func works() async throws {
        let content = Content(length: 1_000_000, seed: 4)
        let resource = Resource(content, etag: "\"v1\"")
        let server = try await servers.serve { .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil) }
        let url = try #require(URL(string: "\(server.baseURL)/model.bin"))
        #expect(await fetchModel(from: url, to: folder["model.bin"], cache: folder["cache"]))
        #expect(server.requests.count == 2)
        // An error is printed.
        server.setHandler { _ in .status("404 Not Found") }
        #expect(await !fetchModel(from: url, to: folder["other.bin"], cache: folder["cache"]))
        let bytes = try Files.bytes(folder["model.bin"])
        #expect(bytes.count == 1_000_000 && content.matches(bytes))
    }

    @Test("The examples of pausing and reading run against an origin")
    func pausingAndReading() async throws {
        let resource = Resource(Content(length: 1_000_000, seed: 4), etag: "\"v1\"")
        let server = try await servers.serve {
            .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil, stall: true)
        }
        let store = try await DownloadStore.open(at: folder["cache"])
        let transport = CurlTransport()
        let downloader = Downloader(store: store, transport: transport)
        let url = try DownloadURL("\(server.baseURL)/model.bin")
        let request = DownloadRequest(url, to: folder["model.bin"])
        try await pauseAndResume(request, with: downloader)
        #expect(resource.content.matches(try Files.bytes(folder["model.bin"])))
        #expect(server.requests.map { $0.field("Range") == nil } == [true, false])
        var fed: [UInt8] = []
        try await play(request, with: downloader) { fed += $0 }
        #expect(fed.count == 1_000_064 && resource.content.matches(fed.dropLast(64)))
        await transport.shutdown()
        await store.close()
    }

    @Test("The example with another HTTP client resumes after a lost connection")
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
    ) -> FetchResponse<AsyncThrowingStream<[UInt8], any Error>> {
        let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        continuation.yield(Array(content[answer.body].prefix(isCut ? 30_000 : .max)))
        continuation.finish(throwing: isCut ? CocoaError(.fileReadUnknown) : nil)
        return FetchResponse(head: answer.head, body: parts)
    }

    @Test("The example of a queue delivers the forced download and keeps the rest")
    func queue() async throws {
        let resource = Resource(Content(length: 200_000, seed: 12), etag: "\"v1\"")
        let server = try await servers.serve { .file(resource, for: $0) }
        let store = try await DownloadStore.open(at: folder["cache"])
        let transport = CurlTransport()
        let requests = try ["1.jpg", "2.jpg", "picture.jpg"].map { name in
            DownloadRequest(try DownloadURL("\(server.baseURL)/\(name)"), to: folder[name])
        }
        try await browse(
            Downloader(store: store, transport: transport), previews: Array(requests.dropLast()),
            picture: requests[2])
        #expect(resource.content.matches(try Files.bytes(folder["picture.jpg"])))
        let queue = try await DownloadQueue.open(Downloader(store: store, transport: transport))
        let rest = await queue.restored.map(\.destination)
        for name in ["1.jpg", "2.jpg"] {
            #expect(rest.contains(folder[name]) != Files.exists(folder[name]), "\(name)")
        }
        await queue.close()
        await transport.shutdown()
        await store.close()
    }

    @Test("The products in the README and in the article GettingStarted exist")
    func products() throws {
        let manifest = try Self.text("Package.swift")
        for page in ["README.md", "Sources/ResumeDownload/ResumeDownload.docc/GettingStarted.md"] {
            let products = try Self.text(page).matches(of: /\.product\(name: "(\w+)", package: "resume-store"\)/).map(
                \.1)
            #expect(products == ["Resume"], "\(page)")
            for name in products {
                #expect(manifest.contains(".library(name: \"\(name)\", targets: [\"\(name)\"])"), "\(page): \(name)")
            }
        }
    }

    @Test("SwiftPM reads the README's manifest", .enabled(if: Shell.has("swift")))
    func manifest() async throws {
        let blocks = try Self.text("README.md").components(separatedBy: "```swift\n// swift-tools-version")
        try #require(blocks.count == 2)
        let manifest = try #require(blocks[1].components(separatedBy: "```").first)
        try Files.write(Array("// swift-tools-version\(manifest)".utf8), to: folder["Package.swift"])
        let package = try await Shell.run(
            "swift", "package", "dump-package", "--package-path", folder.path, "--scratch-path", folder[".build"])
        #expect(package.contains("resume-store"))
    }
}
