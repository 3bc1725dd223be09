// swift-tools-version: 6.2

import PackageDescription

// A service that is built with the trait ServiceLifecycle, and without those that it does not need.
let package = Package(
    name: "queue-service",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "resume-store", path: "../..", traits: ["ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
    ],
    targets: [
        .executableTarget(
            name: "queue-service",
            dependencies: [
                .product(name: "ResumeServiceLifecycle", package: "resume-store"),
                .product(name: "ResumeURLSession", package: "resume-store"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ])
    ]
)
