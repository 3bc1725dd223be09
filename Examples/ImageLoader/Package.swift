// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "ImageLoader",
    platforms: [.macOS(.v15)],
    dependencies: [
        // The store alone, for an HTTP client of one's own: no traits, so that neither swift-nio nor the engine comes
        // along. In a package of your own: .package(url: "…", from: "…", traits: [])
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
