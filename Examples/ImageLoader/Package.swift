// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "ImageLoader",
    platforms: [.macOS(.v15)],
    dependencies: [
        // Only the store, for programs with their own HTTP client: without traits, neither libcurl nor the engine is
        // needed. In your package: .package(url: "…", from: "…", traits: [])
        .package(name: "resume-store", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "ImageLoader",
            dependencies: [
                .product(name: "ResumeHTTP", package: "resume-store"),
                .product(name: "ResumeStore", package: "resume-store"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ])
    ]
)
