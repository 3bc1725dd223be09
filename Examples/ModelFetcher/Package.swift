// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "ModelFetcher",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your package: .package(url: "…", from: "…")
        .package(name: "resume-store", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "ModelFetcher",
            dependencies: [.product(name: "Resume", package: "resume-store")])
    ]
)
