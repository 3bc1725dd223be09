// swift-tools-version: 6.2

import PackageDescription

// A program that uses only `ResumeStore`: without traits, it depends on nothing that the store does not need.
let package = Package(
    name: "embedder",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "resume-store", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "embedder",
            dependencies: [.product(name: "ResumeStore", package: "resume-store")],
            // Without it, members of types are found that need another import.
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")])
    ]
)
