#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import Logging
#if os(Linux) || os(macOS)
public import ResumeCurl
#else
import ResumeURLSession
#endif
public import ResumeDownload
public import ResumeStore

extension Downloader {
    /// The settings of a downloader with its own store and transport.
    public struct Configuration: Sendable {
        /// The settings of the store, such as its limits.
        public var store: DownloadStore.Configuration
        #if os(Linux) || os(macOS)
        /// The settings of the HTTP client, such as proxies and trusted certificates.
        public var transport: CurlTransport.Configuration
        #endif
        /// Logs each step; nil for no log.
        public var logger: Logger?

        #if os(Linux) || os(macOS)
        /// Makes a configuration; the defaults are those of the store and the transport, and no log.
        public init(
            store: DownloadStore.Configuration = .init(), transport: CurlTransport.Configuration = .init(),
            logger: Logger? = nil
        ) {
            self.store = store
            self.transport = transport
            self.logger = logger
        }
        #else
        /// Makes a configuration; the defaults are those of the store, and no log.
        public init(store: DownloadStore.Configuration = .init(), logger: Logger? = nil) {
            self.store = store
            self.logger = logger
        }
        #endif
    }
}

/// Opens a store and an HTTP client, runs a closure with a downloader that uses both, and closes them.
///
/// They are closed after an error or a cancellation as well. Partial data stays in the store for the next call, in this
/// process or another one.
///
/// ```swift
/// let file = try await withDownloader(storingIn: "/var/cache/example") { try await $0.download(url, to: "image.iso") }
/// print("\(file.path): \(file.totalBytes) bytes, \(file.reusedBytes) of them from an earlier run")
/// ```
///
/// - Parameters:
///   - folder: The folder of the store, which should contain nothing else; it is created if it does not exist.
///   - configuration: The settings.
///   - body: Downloads files. The downloader must not be used after it returns.
/// - Returns: What the closure returns.
/// - Throws: `StoreError` if the store cannot be opened; the errors of the closure.
public func withDownloader<Result>(
    storingIn folder: String, configuration: Downloader.Configuration = .init(),
    _ body: (Downloader) async throws -> Result
) async throws -> Result {
    let store = try await DownloadStore.open(at: folder, configuration: configuration.store)
    #if os(Linux) || os(macOS)
    let transport = CurlTransport(configuration.transport)
    #else
    let transport = URLSessionTransport()
    #endif
    let downloader = Downloader(store: store, transport: transport, logger: configuration.logger)
    let result = await Swift.Result { try await body(downloader) }
    #if os(Linux) || os(macOS)
    await transport.shutdown()
    #else
    transport.shutdown()
    #endif
    await store.close()
    return try result.get()
}

/// Runs a closure with a downloader like ``withDownloader(storingIn:configuration:_:)-(String,_,_)``.
///
/// - Parameters:
///   - folder: The folder of the store, as a file URL.
///   - configuration: The settings.
///   - body: Downloads files.
/// - Returns: What the closure returns.
/// - Throws: `StoreError` if the store cannot be opened; the errors of the closure.
public func withDownloader<Result>(
    storingIn folder: URL, configuration: Downloader.Configuration = .init(),
    _ body: (Downloader) async throws -> Result
) async throws -> Result {
    try await withDownloader(storingIn: folder.filePath, configuration: configuration, body)
}
