#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import ResumeHTTP
import ResumeStore

extension URL {
    /// The path of a file URL.
    ///
    /// - Throws: `StoreError` with `destination` if it is another URL, as when two arguments were mixed up.
    package var filePath: String {
        get throws {
            guard isFileURL else {
                throw StoreError(.destination, Reason("other-scheme", with: scheme ?? "a relative path"))
            }
            return path(percentEncoded: false)
        }
    }
}

extension DownloadRequest {
    /// Makes a request with the defaults.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - path: The path to which the file is delivered.
    /// - Throws: `InvalidInput` if it is not an absolute `http` or `https` URL.
    public init(_ url: URL, to path: String) throws(InvalidInput) {
        self.init(try DownloadURL(url), to: path)
    }

    /// Makes a request with the defaults.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - file: The file URL to which it is delivered.
    /// - Throws: `InvalidInput` if it is not an absolute `http` or `https` URL; `StoreError` with `destination`
    ///   if `file` is not a file URL.
    public init(_ url: URL, to file: URL) throws {
        self.init(try DownloadURL(url), to: try file.filePath)
    }
}

extension Downloader {
    /// Downloads one file with the default settings, like ``download(_:onEvent:)``.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - path: The path to which the file is delivered.
    ///   - onEvent: Called with each event, in order; the download waits for it to return.
    /// - Returns: The path of the file, and how many of its bytes had been received before.
    /// - Throws: `InvalidInput` if `url` is not an absolute `http` or `https` URL; the errors of
    ///   ``download(_:onEvent:)``.
    @discardableResult
    public func download(
        _ url: URL, to path: String, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await download(DownloadRequest(url, to: path), onEvent: onEvent)
    }

    /// Downloads one file with the default settings, like ``download(_:onEvent:)``.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - file: The file URL to which it is delivered.
    ///   - onEvent: Called with each event, in order; the download waits for it to return.
    /// - Returns: The path of the file, and how many of its bytes had been received before.
    /// - Throws: `InvalidInput` if `url` is not an absolute `http` or `https` URL; the errors of
    ///   ``download(_:onEvent:)``.
    @discardableResult
    public func download(
        _ url: URL, to file: URL, onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        try await download(DownloadRequest(url, to: file), onEvent: onEvent)
    }
}
