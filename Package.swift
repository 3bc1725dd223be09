// swift-tools-version: 6.2.3
// Swift 6.2.3 is the first one with @nonexhaustive (SE-0487).

import PackageDescription

let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Tests call C freely.
let testSettings = Array(settings.dropFirst())

// If every use of a package depends on a trait, SwiftPM does not resolve the package while the trait is disabled.
let engine: TargetDependencyCondition? = .when(traits: ["Engine"])
let asyncHTTP: TargetDependencyCondition? = .when(traits: ["AsyncHTTP"])
let curl: TargetDependencyCondition? = .when(traits: ["Curl"])
let commandLine: TargetDependencyCondition? = .when(traits: ["CommandLine"])
let lifecycle: TargetDependencyCondition? = .when(traits: ["ServiceLifecycle"])

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log", condition: engine)
let inMemoryLogging: Target.Dependency = .product(name: "InMemoryLogging", package: "swift-log", condition: engine)
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics", condition: engine)
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics", condition: engine)
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing", condition: engine)
let inMemoryTracing: Target.Dependency = .product(
    name: "InMemoryTracing", package: "swift-distributed-tracing", condition: engine)
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let arguments: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: commandLine)
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1", condition: curl)
let asyncHTTPClient: Target.Dependency = .product(
    name: "AsyncHTTPClient", package: "async-http-client", condition: asyncHTTP)
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio", condition: asyncHTTP)
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio", condition: asyncHTTP)
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio", condition: asyncHTTP)
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl", condition: asyncHTTP)

let serviceLifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: lifecycle)

let package = Package(
    name: "resume-store",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Resume", targets: ["Resume"]),
        .library(name: "ResumeHTTP", targets: ["ResumeHTTP"]),
        .library(name: "ResumeStore", targets: ["ResumeStore"]),
        .library(name: "ResumeMaintenance", targets: ["ResumeMaintenance"]),
        .library(name: "ResumeDownload", targets: ["ResumeDownload"]),
        .library(name: "ResumeCurl", targets: ["ResumeCurl"]),
        .library(name: "ResumeAsyncHTTP", targets: ["ResumeAsyncHTTP"]),
        .library(name: "ResumeURLSession", targets: ["ResumeURLSession"]),
        .library(name: "ResumeTesting", targets: ["ResumeTesting"]),
        .library(name: "ResumeServiceLifecycle", targets: ["ResumeServiceLifecycle"]),
        .executable(name: "resumectl", targets: ["resumectl"]),
    ],
    traits: [
        .default(enabledTraits: ["CommandLine", "Curl", "Engine"]),
        .trait(
            name: "Engine",
            description: "ResumeDownload, which depends on swift-log, swift-metrics and tracing."),
        .trait(
            name: "Curl", description: "ResumeCurl, which depends on libcurl and swift-asn1.", enabledTraits: ["Engine"]
        ),
        .trait(
            name: "AsyncHTTP",
            description: "ResumeAsyncHTTP, which depends on async-http-client, swift-nio and swift-nio-ssl."),
        .trait(
            name: "ServiceLifecycle",
            description: "ResumeServiceLifecycle, which depends on swift-service-lifecycle.", enabledTraits: ["Engine"]),
        .trait(
            name: "CommandLine", description: "resumectl, which also depends on swift-argument-parser.",
            enabledTraits: ["Curl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CResumeSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(name: "ResumeSQLite", dependencies: ["CResumeSQLite", "ResumeFiles"], swiftSettings: settings),
        .target(
            name: "ResumeMigrations", path: "Migrations",
            resources: [
                .embedInCode("V1__create_store.sql"), .embedInCode("V2__ranges_codings_absence.sql"),
                .embedInCode("V3__checksums_generations.sql"), .embedInCode("V4__queue.sql"),
                .embedInCode("V5__suggested_filename.sql"), .embedInCode("V6__queue_failed.sql"),
                .embedInCode("V7__request_identity.sql"), .embedInCode("V8__blob_length.sql"),
                .embedInCode("V10__jobs.sql"), .embedInCode("V11__job_destination.sql"),
                .embedInCode("V12__entries.sql"), .embedInCode("V13__entry_indices.sql"),
                .embedInCode("V14__adopted.sql"),
                .embedInCode("V15__size_index.sql"), .embedInCode("V16__resource.sql"),
                .embedInCode("V17__contradictions.sql"),
                .embedInCode("V19__delivered.sql"), .embedInCode("V20__log_without_index.sql"),
            ],
            swiftSettings: settings),
        .target(
            name: "ResumeHTTP", dependencies: ["CResumeChecksum", httpTypes, structuredFields],
            resources: [
                .embedInCode("Reasons/reasons.txt"), .embedInCode("Words/codings.txt"),
                .embedInCode("Words/signatures.txt"), .embedInCode("Words/signing-schemes.txt"),
                .embedInCode("Words/words.txt"),
            ],
            swiftSettings: settings),
        .target(name: "CResumeFiles"),
        .target(name: "CResumeChecksum"),
        .target(name: "ResumeFiles", dependencies: ["CResumeChecksum", "CResumeFiles"], swiftSettings: settings),
        .target(
            name: "ResumeStore",
            dependencies: [
                "ResumeFiles", "ResumeHTTP", "ResumeMigrations", "ResumeSQLite", httpTypes,
            ],
            swiftSettings: settings),
        .target(
            name: "ResumeMaintenance",
            dependencies: ["ResumeFiles", "ResumeHTTP", "ResumeSQLite", "ResumeStore"], swiftSettings: settings),
        .target(
            name: "ResumeDownload",
            dependencies: ["ResumeFiles", "ResumeHTTP", "ResumeStore", httpTypes, logging, metrics, tracing],
            swiftSettings: settings),
        .systemLibrary(
            name: "CResumeCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .target(
            name: "ResumeCurl",
            dependencies: ["CResumeCurl", "ResumeDownload", "ResumeFiles", "ResumeHTTP", asn1, httpTypes],
            resources: [.embedInCode("certificate-problems.txt")], swiftSettings: settings),
        // Empty unless its trait is enabled. It serves the store alone as well as the engine.
        .target(
            name: "ResumeAsyncHTTP",
            dependencies: [
                .target(name: "ResumeDownload", condition: engine), "ResumeFiles", "ResumeHTTP", "ResumeStore",
                asyncHTTPClient, httpTypes, nioCore, nioHTTP1, nioPosix, nioSSL,
            ],
            swiftSettings: settings),
        .target(
            name: "Resume",
            dependencies: [
                "ResumeDownload", "ResumeHTTP", "ResumeStore", httpTypes, logging,
                .target(name: "ResumeCurl", condition: .when(platforms: [.linux, .macOS])),
                .target(
                    name: "ResumeURLSession", condition: .when(platforms: [.iOS, .tvOS, .watchOS, .visionOS])),
            ],
            swiftSettings: settings),
        // Empty unless its trait is enabled.
        .target(
            name: "ResumeServiceLifecycle", dependencies: ["ResumeDownload", serviceLifecycle], swiftSettings: settings),
        .target(
            name: "ResumeTesting", dependencies: ["ResumeDownload", "ResumeHTTP", httpTypes], swiftSettings: settings),
        .target(
            name: "ResumeURLSession", dependencies: ["ResumeDownload", "ResumeHTTP", httpTypes], swiftSettings: settings
        ),
        .target(
            name: "ResumeCommands",
            dependencies: [
                "ResumeCurl", "ResumeDownload", "ResumeFiles", "ResumeHTTP", "ResumeMaintenance", "ResumeSQLite",
                "ResumeStore", arguments, httpTypes,
            ],
            resources: [
                .embedInCode("Completion/completion.bash"), .embedInCode("Completion/completion.fish"),
                .embedInCode("Completion/completion.zsh"), .embedInCode("Usage/Texts/foreign-commands.txt"),
                .embedInCode("Usage/Texts/foreign-options.tsv"), .embedInCode("Usage/Texts/help.txt"),
                .embedInCode("Usage/Texts/options.txt"), .embedInCode("Usage/Texts/remedies.txt"),
                .embedInCode("Usage/Texts/rivals.txt"),
            ],
            swiftSettings: settings),
        // In C, which is given the arguments; Swift would read them from /proc.
        .executableTarget(name: "resumectl", dependencies: ["ResumeCommands"]),
        .target(
            name: "OriginServer", path: "Tests/OriginServer", swiftSettings: settings
        ),
        .executableTarget(
            name: "origin-server", dependencies: ["OriginServer"], path: "Tests/origin-server", swiftSettings: settings),
        .testTarget(
            name: "OriginServerTests", dependencies: ["OriginServer", "TestSupport"], swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["ResumeHTTP", "ResumeStore", httpTypes], path: "Tests/TestSupport",
            swiftSettings: testSettings),
        // CFaultShim next to it is not a target: the tests build it and preload it into the program.
        .target(
            name: "FaultInjection", dependencies: ["TestSupport"], path: "Tests/FaultInjection",
            swiftSettings: testSettings),
        .testTarget(
            name: "FaultInjectionTests",
            dependencies: ["FaultInjection", "OriginServer", "TestSupport", "resumectl"],
            swiftSettings: testSettings),
        .target(
            name: "CrashSweep",
            dependencies: [
                "FaultInjection", "OriginServer", "ResumeHTTP", "ResumeMigrations", "ResumeSQLite", "TestSupport",
            ],
            path: "Tests/CrashSweep", swiftSettings: testSettings),
        .executableTarget(
            name: "crash-sweep", dependencies: ["CrashSweep"], path: "Tests/crash-sweep", swiftSettings: testSettings),
        .testTarget(
            name: "CrashSweepTests",
            dependencies: ["CrashSweep", "FaultInjection", "OriginServer", "TestSupport", "crash-sweep", "resumectl"],
            swiftSettings: testSettings),
        .target(name: "CForkedChild", path: "Tests/CForkedChild"),
        .target(name: "CUnfetchHook", path: "Tests/CUnfetchHook", linkerSettings: [.linkedLibrary("sqlite3")]),
        .testTarget(
            name: "ResumeSQLiteTests", dependencies: ["ResumeSQLite", "TestSupport"], swiftSettings: testSettings),
        .testTarget(
            name: "ResumeStoreTests",
            dependencies: [
                "CResumeChecksum", "CUnfetchHook", "ResumeFiles", "ResumeHTTP", "ResumeMaintenance", "ResumeMigrations",
                "ResumeSQLite", "ResumeStore", "TestSupport", httpTypes,
            ],
            swiftSettings: testSettings),
        // Moves partial data from memory to disk, in a process whose system calls are traced.
        .executableTarget(
            name: "promoter", dependencies: ["ResumeHTTP", "ResumeStore", "TestSupport", httpTypes],
            path: "Tests/promoter", swiftSettings: testSettings),
        .testTarget(
            name: "PartialStoreTests",
            dependencies: [
                "FaultInjection", "OriginServer", "ResumeFiles", "ResumeHTTP", "ResumeMaintenance", "ResumeSQLite",
                "ResumeStore", "TestSupport", "promoter", httpTypes,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "ResumeHTTPTests", dependencies: ["ResumeHTTP", "TestSupport", httpTypes], swiftSettings: testSettings
        ),
        .testTarget(
            name: "ResumeDownloadTests",
            dependencies: [
                "OriginServer", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeMaintenance", "ResumeSQLite",
                "ResumeStore",
                "ResumeTesting", "ResumeURLSession", "Scenarios", "TestSupport", httpTypes,
                inMemoryLogging,
                inMemoryTracing, logging, metricsTestKit, metrics, tracing,
            ],
            exclude: ["gateway.pem"],
            swiftSettings: testSettings),
        .target(
            name: "Scenarios", dependencies: ["OriginServer"], path: "Tests/Scenarios", swiftSettings: testSettings),
        .testTarget(
            name: "ResumeCommandsTests",
            dependencies: ["OriginServer", "ResumeCommands", "ResumeHTTP", "ResumeStore", "TestSupport", httpTypes],
            exclude: ["Recordings"], swiftSettings: testSettings),
        .testTarget(
            name: "ResumectlTests",
            dependencies: [
                "FaultInjection", "OriginServer", "ResumeMaintenance", "ResumeStore", "Scenarios", "TestSupport",
                "resumectl",
            ],
            swiftSettings: testSettings),
        // Random stores, for every command and the library.
        .target(
            name: "StoreFuzz",
            dependencies: [
                "OriginServer", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeMaintenance", "ResumeStore",
                "TestSupport", httpTypes,
            ],
            path: "Tests/StoreFuzz", swiftSettings: testSettings),
        .executableTarget(
            name: "store-fuzzer", dependencies: ["StoreFuzz", "TestSupport", "resumectl"], path: "Tests/store-fuzzer",
            swiftSettings: testSettings),
        .testTarget(
            name: "HostileStoreTests",
            dependencies: [
                "CForkedChild", "OriginServer", "ResumeCommands", "ResumeHTTP", "ResumeMaintenance", "ResumeMigrations",
                "ResumeSQLite", "ResumeStore", "StoreFuzz", "TestSupport", "resumectl", "store-fuzzer", httpTypes,
            ],
            swiftSettings: testSettings),
        // Random histories of downloads, and simulated months of use.
        .target(
            name: "Histories",
            dependencies: [
                "ResumeDownload", "ResumeFiles", "ResumeHTTP", "ResumeSQLite", "ResumeStore", "TestSupport", httpTypes,
            ],
            path: "Tests/Histories", swiftSettings: testSettings),
        .executableTarget(
            name: "history-walk", dependencies: ["Histories", "TestSupport"], path: "Tests/history-walk",
            swiftSettings: testSettings),
        .testTarget(
            name: "HistoryTests",
            dependencies: [
                "Histories", "OriginServer", "ResumeDownload", "ResumeFiles", "ResumeHTTP", "ResumeStore",
                "TestSupport",
                "history-walk", "resumectl", httpTypes,
            ],
            swiftSettings: testSettings),
        .target(
            name: "Crowd",
            dependencies: [
                "CResumeFiles", "CUnfetchHook", "FaultInjection", "OriginServer", "ResumeFiles", "ResumeSQLite",
                "ResumeStore", "TestSupport",
            ],
            path: "Tests/Crowd", swiftSettings: testSettings),
        .executableTarget(
            name: "store-crowd", dependencies: ["Crowd", "TestSupport", "resumectl"], path: "Tests/store-crowd",
            swiftSettings: testSettings),
        .testTarget(
            name: "CrowdTests",
            dependencies: ["Crowd", "FaultInjection", "OriginServer", "TestSupport", "resumectl", "store-crowd"],
            swiftSettings: testSettings),
        // Runs a queue of downloads until it is complete or the process is killed.
        .executableTarget(
            name: "queue-runner", dependencies: ["ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeStore"],
            path: "Tests/queue-runner", swiftSettings: testSettings),
        .testTarget(
            name: "QueueTests",
            dependencies: [
                "OriginServer", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeMaintenance", "ResumeSQLite",
                "ResumeStore", "TestSupport", "queue-runner", httpTypes,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "MemoryTests",
            dependencies: [
                "OriginServer", "ResumeCurl", "ResumeDownload", "ResumeURLSession", "TestSupport", "resumectl",
                httpTypes,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "RealOriginTests",
            dependencies: [
                "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeStore", "TestSupport", "resumectl", httpTypes,
            ],
            swiftSettings: testSettings),
        // Builds the package in Tests/Linkage, which is not one of these targets.
        .testTarget(name: "LinkageTests", dependencies: ["TestSupport"], swiftSettings: testSettings),
        // Compiled like an embedding program: without this package's settings and without package access.
        .target(
            name: "ReadmeExample",
            dependencies: [
                "Resume", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeStore", "ResumeTesting",
                "ResumeURLSession", httpTypes, logging, metrics,
            ],
            path: "Tests/ReadmeExample", packageAccess: false),
        .target(
            name: "DocumentationExamples",
            dependencies: [
                "Resume", "ResumeCurl", "ResumeDownload", "ResumeHTTP", "ResumeMaintenance", "ResumeStore",
                httpTypes,
                logging,
            ],
            path: "Tests/DocumentationExamples", packageAccess: false),
        .testTarget(
            name: "ReadmeTests",
            dependencies: [
                "DocumentationExamples", "OriginServer", "ReadmeExample", "Resume", "ResumeCurl", "ResumeCommands",
                "ResumeDownload", "ResumeHTTP", "ResumeStore", "TestSupport", arguments, httpTypes,
            ],
            swiftSettings: testSettings),
        // Tests the programs in Examples, which are separate packages: Scripts/build-examples.sh builds them.
        .testTarget(
            name: "ExampleTests", dependencies: ["OriginServer", "ResumeHTTP", "TestSupport"],
            exclude: ["object_store.py"],
            swiftSettings: testSettings),
        .executableTarget(
            name: "store-benchmark", dependencies: ["ResumeHTTP", "ResumeSQLite", "ResumeStore"],
            path: "Benchmarks/StoreBenchmark", swiftSettings: settings),
        .executableTarget(
            name: "parser-fuzzer", dependencies: ["ResumeHTTP", httpTypes], path: "Fuzz/ParserFuzzer",
            swiftSettings: settings),
    ]
)
