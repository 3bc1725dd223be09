// swift-tools-version: 6.2

import PackageDescription

// Applications with their own HTTP clients. The trait AsyncHTTP is off by default. With WITHOUT_ENGINE=1, only the part
// that needs no engine is built; the tests need it.
let withEngine = Context.environment["WITHOUT_ENGINE"] == nil
let store: Target.Dependency = .product(name: "ResumeStore", package: "resume-store")
let download: Target.Dependency = .product(name: "ResumeDownload", package: "resume-store")
let adapter: Target.Dependency = .product(name: "ResumeAsyncHTTP", package: "resume-store")
let session: Target.Dependency = .product(name: "ResumeURLSession", package: "resume-store")
let client: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")

let engineTargets: [Target] = [
    .target(name: "EngineExamples", dependencies: [adapter, client, download, logging]),
    .testTarget(
        name: "AdapterTests",
        dependencies: [
            "EngineExamples", "FetchExample", adapter, client, download, nioCore, nioHTTP1, nioSSL, session,
        ]),
]

let package = Package(
    name: "async-http-adapter",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "resume-store", path: "../..", traits: withEngine ? ["AsyncHTTP", "Engine"] : ["AsyncHTTP"]),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
    ],
    targets: [.target(name: "FetchExample", dependencies: [adapter, client, store])] + (withEngine ? engineTargets : [])
)
