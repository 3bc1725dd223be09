import Foundation
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Names of files and folders that are more to Swift than bytes.
@Suite(.timeLimit(.minutes(5)))
struct DestinationTests {
    @Test("A name that begins with a combining mark is one in its folder, and so is the store's")
    func combiningMark() async throws {
        try await TemporaryFolder.with { folder in
            let store = try await DownloadStore.open(at: folder["\u{301}deep/\u{301}store"])
            let server = HonestServer(sampleBytes(10_000), etag: "\"v1\"")
            let transfer = try await store.begin(try DownloadURL("http://127.0.0.1/file"))
            try await server.fill(transfer)
            let path = folder["\u{301}name"]
            let destination = try Destination(path)
            #expect(destination.path.utf8.elementsEqual(path.utf8))
            try await transfer.deliver(to: destination)
            #expect(try Files.bytes(path) == server.content)
            await store.close()
        }
    }

    @Test("What names no file is refused", arguments: ["", "/", "/tmp/", "a/..", ".", "a\0b"])
    func refused(path: String) {
        #expect(throws: StoreError.self) { try Destination(path) }
    }

    #if os(Linux)
    @Test("A link to a process's open file is refused: its place would be taken")
    func linkToOpenFile() async throws {
        try await TemporaryFolder.with { folder in
            try Data().write(to: URL(fileURLWithPath: folder["out"]))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder["out"]))
            let target = "/proc/self/fd/\(file.fileDescriptor)"
            try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: target)
            #expect(throws: StoreError(.destination, "")) { try Destination(checking: folder["link"]) }
            try FileManager.default.createSymbolicLink(atPath: folder["other"], withDestinationPath: folder["out"])
            _ = try Destination(checking: folder["other"])
            try file.close()
        }
    }
    #endif

    @Test("Where the folder is missing, the error names it as it was given")
    func missingFolder() async throws {
        try await TemporaryFolder.with { folder in
            let missing = folder["missing"]
            let error = #expect(throws: StoreError.self) { try Destination(checking: "\(missing)/out") }
            #expect(error?.code == .destination)
            #expect(error?.message.contains("open of \(missing) failed") == true)
        }
    }
}
