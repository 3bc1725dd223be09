import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// What the stream tests read, and how.
enum Film {
    static let file = Resource(Content(length: 3_000_000, seed: 7), etag: "\"film\"")
    static let other = Resource(Content(length: 3_000_000, seed: 8), etag: "\"other\"")

    /// Reads to the end.
    ///
    /// - Returns: The bytes. Each piece is checked against the limits for a piece.
    static func all(_ stream: DownloadStream, delivering path: String? = nil, of length: Int = 3_000_000)
        async throws -> [UInt8]
    {
        var bytes: [UInt8] = []
        for try await piece in stream {
            #expect(!piece.isEmpty && piece.count <= 256 << 10)
            bytes += piece
            if bytes.count == length, let path {
                #expect(Files.exists(path), "the last piece comes after the delivery")
            }
        }
        return bytes
    }

    /// Leaves the first bytes of a resource in the store.
    static func leave(_ length: Int, of resource: Resource, _ desk: Desk) async throws {
        let transfer = try await desk.origin.store.open(try DownloadURL(desk.origin.url), headerFields: [:])
        try await HonestServer(resource.bytes, etag: resource.etag ?? "").fill(transfer, upTo: length)
        try await transfer.close()
    }

    /// Changes a byte of the only blob.
    static func flip(_ offset: UInt64, in blobs: String) throws {
        let name = try #require(try Files.names(in: blobs).first)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: blobs + "/" + name))
        try file.seek(toOffset: offset)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: [byte ^ 1])
        try file.close()
    }

    /// Serves one file until it is cut, and another one once a reader has read some of the first.
    static func serving(_ first: Resource, cutAfter length: Int64, then second: Resource, after hasRead: Flag)
        -> Origin.Handler
    {
        { request in
            if request.number == 1 { return .file(first, for: request, cutAfter: length) }
            return hasRead.isSet ? .file(second, for: request) : .status("503 Service Unavailable")
        }
    }

    /// Reads the first piece, then sets a flag, then continues.
    static func all(_ stream: DownloadStream, telling hasRead: Flag) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in stream {
            bytes += piece
            hasRead.set()
        }
        return bytes
    }

    /// Makes the request retry for as long as the reader takes.
    static func patient(_ request: inout DownloadRequest) {
        request.retryPolicy = .init(retries: 1_000_000, firstDelay: .milliseconds(5), longestDelay: .milliseconds(5))
    }
}
