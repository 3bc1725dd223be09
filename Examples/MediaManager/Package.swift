// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "MediaManager",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your package: .package(url: "…", from: "…")
        .package(name: "resume-store", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "MediaManager",
            dependencies: [
                .product(name: "ResumeCurl", package: "resume-store"),
                .product(name: "ResumeDownload", package: "resume-store"),
                .product(name: "ResumeHTTP", package: "resume-store"),
                .product(name: "ResumeStore", package: "resume-store"),
            ])
    ]
)
