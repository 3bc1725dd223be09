import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// File and folder names whose bytes differ from how Swift compares characters.
@Suite(.timeLimit(.minutes(5)))
struct DestinationTests {
    @Temporary private var folder

    @Test("A name that begins with a combining mark stays inside its folder, also in the store's path")
    func combiningMark() async throws {
        let store = try await DownloadStore.open(at: folder["\u{301}deep/\u{301}store"])
        let server = HonestServer(sampleBytes(10_000), etag: "\"v1\"")
        let transfer = try await store.begin("http://127.0.0.1/file")
        try await server.fill(transfer)
        let path = folder["\u{301}name"]
        let destination = try Destination(path)
        #expect(destination.path.utf8.elementsEqual(path.utf8))
        try await transfer.deliver(to: destination)
        #expect(try Files.bytes(path) == server.content)
        await store.close()
    }

    @Test("A path that names no file is refused", arguments: ["", "/", "/tmp/", "a/..", ".", "a\0b"])
    func refused(path: String) {
        #expect(throws: StoreError.self) { try Destination(path) }
    }

    #if os(Linux)
    @Test("A link to a process's open file is refused, because it would be replaced")
    func linkToOpenFile() async throws {
        try Data().write(to: URL(fileURLWithPath: folder["out"]))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder["out"]))
        let target = "/proc/self/fd/\(file.fileDescriptor)"
        try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: target)
        #expect(throws: StoreError(.destination, "")) { try Destination(checking: folder["link"]) }
        try FileManager.default.createSymbolicLink(atPath: folder["other"], withDestinationPath: folder["out"])
        _ = try Destination(checking: folder["other"])
        try file.close()
    }
    #endif

    @Test("If the folder is missing, the error names it as the caller gave it")
    func missingFolder() async throws {
        let missing = folder["missing"]
        let error = #expect(throws: StoreError.self) { try Destination(checking: "\(missing)/out") }
        #expect(error?.code == .destination)
        #expect(error?.message.contains("open failed for \(missing)") == true)
    }

    @Test("A dangling link may be replaced; a name that is too long is refused with the reason")
    func names() async throws {
        try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: "nowhere")
        _ = try Destination(checking: folder["link"])
        let long = folder[String(repeating: "x", count: 300)]
        let error = #expect(throws: StoreError(.destination, "")) { try Destination(checking: long) }
        #expect(error?.message.contains("File name too long") == true)
    }

    /// Runs a test on a download whose bytes are all present.
    private static func withWhole(
        _ server: HonestServer, in folder: TemporaryFolder, _ body: (DownloadStore, Transfer) async throws -> Void
    ) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        let transfer = try await store.begin()
        try await server.fill(transfer)
        try await body(store, transfer)
        await store.close()
    }

    /// The second one requires a second file system.
    static let folders = ["", "/dev/shm"].filter { $0.isEmpty || FileManager.default.isWritableFile(atPath: $0) }

    @Test(
        "A delivery that must not replace anything leaves a file alone, and the download stays", arguments: folders,
        [Obstacle.file, .sameLength, .link, .folder])
    func replacesNothing(parent: String, obstacle: Obstacle) async throws {
        let server = HonestServer(sampleBytes(1_500_000), etag: "\"v1\"")
        // A separate folder: other tests stage files there as well.
        let target = parent.isEmpty ? folder : try TemporaryFolder(in: parent)
        let path = target["replaces-nothing"]
        defer { if !parent.isEmpty { target.remove() } }
        try await Self.withWhole(server, in: folder) { store, transfer in
            var destination = try Destination(path)
            destination.replaces = false
            try obstacle.make(at: path)
            await #expect(throws: StoreError(.destinationExists, "")) {
                try await transfer.deliver(to: destination)
            }
            #expect(throws: StoreError(.destinationExists, "")) { try destination.requireFree() }
            #expect(try obstacle.isIntact(at: path))
            #expect(try await store.entries().first?.state == .complete)
            try FileManager.default.removeItem(atPath: path)
            try destination.requireFree()
            try await transfer.deliver(to: destination)
            #expect(try Files.bytes(path) == server.content)
            #expect(try !Files.names(in: target.path).contains { $0.hasSuffix(".resumectl") })
        }
    }

    @Test(
        "A FIFO created under the name during the download is not replaced, and the download stays",
        arguments: [false, true])
    func pipe(isBrief: Bool) async throws {
        let server = HonestServer(sampleBytes(isBrief ? 1000 : 1_500_000), etag: "\"v1\"")
        try await Self.withWhole(server, in: folder) { store, transfer in
            let destination = try Destination(checking: folder["out"])
            try await Shell.run("mkfifo", folder["out"])
            await #expect(throws: StoreError(.destination, "")) { try await transfer.deliver(to: destination) }
            #expect(try await Shell.outcome("test", ["-p", folder["out"]]).status == 0)
            #expect(try await store.entries().count == 1)
            try FileManager.default.removeItem(atPath: folder["out"])
            try await transfer.deliver(to: destination)
            #expect(try Files.bytes(folder["out"]) == server.content)
        }
    }

    @Test("An identical file under that name counts as a delivery that a crash interrupted", arguments: folders)
    func deliveredBefore(parent: String) async throws {
        let server = HonestServer(sampleBytes(1_500_000), etag: "\"v1\"")
        let path = (parent.isEmpty ? folder.path : parent) + "/delivered-before-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.withWhole(server, in: folder) { store, transfer in
            var destination = try Destination(path)
            destination.replaces = false
            try Files.write(server.content, to: path)
            try await transfer.deliver(to: destination)
            #expect(try await store.entries().isEmpty)
        }
    }
}

/// What may already exist under the file's name.
enum Obstacle: CaseIterable {
    case file, sameLength, link, folder

    private static let other = sampleBytes(1_500_000, seed: 8)

    func make(at path: String) throws {
        switch self {
        case .file: try Files.write([1, 2, 3], to: path)
        case .sameLength: try Files.write(Self.other, to: path)
        case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
    }

    func isIntact(at path: String) throws -> Bool {
        switch self {
        case .file: try Files.bytes(path) == [1, 2, 3]
        case .sameLength: try Files.bytes(path) == Self.other
        case .link: try FileManager.default.destinationOfSymbolicLink(atPath: path) == "nowhere"
        case .folder: try FileManager.default.contentsOfDirectory(atPath: path).isEmpty
        }
    }
}
