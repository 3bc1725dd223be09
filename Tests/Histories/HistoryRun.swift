internal import Foundation
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
internal import ResumeStore
internal import Synchronization
internal import TestSupport

/// One history: steps of callers, of the server and of the store, and what must hold after each.
final class HistoryRun: Sendable {
    /// The process was killed: what it does from now on happens to a store that is thrown away.
    struct Killed: Error {}

    /// When the process is killed or the task is cancelled.
    private struct Fate {
        var stepsLeft: Int?
        var isKill = false
        var image: StoreImage?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private struct State {
        var chance: SplitMix64
        var fate = Fate()
        var violations: [String] = []
        var steps: [String] = []
        var images = 0
    }

    private let seed: UInt64
    private let folder: TemporaryFolder
    private let world: World
    private let clock = StepClock()
    private let state: Mutex<State>
    /// What the history has done, for statistics.
    private let counts = Mutex<[String: Int]>([:])

    init(seed: UInt64, in folder: TemporaryFolder) {
        var chance = SplitMix64(seed: seed)
        world = World(&chance)
        (self.seed, self.folder) = (seed, folder)
        state = Mutex(State(chance: chance))
    }

    var violations: [String] { state.withLock { $0.violations } }
    var statistics: [String: Int] { counts.withLock { $0 } }

    private func count(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }

    private func violate(_ text: String) { state.withLock { $0.violations.append(text) } }

    private func random<Value>(_ body: (inout SplitMix64) -> Value) -> Value { state.withLock { body(&$0.chance) } }

    /// Runs the history.
    ///
    /// - Parameters:
    ///   - pristine: A store without entries, which is copied.
    ///   - reports: Whether to return all that happened.
    /// - Returns: What happened, if it is wanted or something was violated.
    /// - Throws: The error of a store that cannot be opened or read.
    func run(from pristine: String, reporting reports: Bool) async throws -> String? {
        let out = folder["out"]
        try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
        var path = try StoreImage(of: pristine, to: folder["store"], deliveredTo: out).path
        let honesty = random { $0.pick([95, 80, 60]) }
        let server = LyingServer(world, seed: seed &+ 1, honesty: honesty) { [self] in try networkStep() }
        var store = try await open(path)
        let number = random { Int.random(in: 2...6, using: &$0) }
        for _ in 0..<number where violations.isEmpty {
            let step = random { Step(&$0) }
            state.withLock { $0.steps.append("\(step)") }
            let before = try await Held(store)
            if let image = try await perform(step, on: store, at: path, server) {
                await store.close()
                try image.restoreFiles()
                // What the killed process still does happens here, so its folder may not be removable before the end.
                try? FileManager.default.removeItem(atPath: path)
                path = image.path
                store = try await open(path)
            } else if case .reopen = step.action {
                await store.close()
                store = try await open(path)
            }
            for loss in before.lossesWithoutEvent(until: try await Held(store)) { violate(loss) }
        }
        await store.close()
        clock.end()
        guard reports || !violations.isEmpty else { return nil }
        let lines = state.withLock { $0.steps + $0.violations.map { "VIOLATION: \($0)" } }
        return "history \(seed), \(world.style):\n" + (lines + server.log).joined(separator: "\n")
    }

    private func open(_ path: String) async throws -> DownloadStore {
        var configuration = DownloadStore.Configuration()
        configuration.clock = clock.storeClock
        return try await DownloadStore.open(at: path, configuration: configuration)
    }

    /// Performs a step.
    ///
    /// - Returns: What a killed process has left; nil if none was killed.
    private func perform(
        _ step: Step, on store: DownloadStore, at path: String, _ server: LyingServer
    ) async throws -> StoreImage? {
        switch step.action {
        case .change(let file): random { [world] in world.change(file, &$0) }
        case .moveLatest: world.moveLatest()
        case .collect(let size): _ = try await store.collect(maximumSize: size)
        case .reopen: break
        case .download, .stream, .both:
            return try await download(step, on: store, at: path, server)
        }
        return nil
    }

    private func download(
        _ step: Step, on store: DownloadStore, at path: String, _ server: LyingServer
    ) async throws -> StoreImage? {
        let request = try request(step)
        let identities = try (0...1).map { caller in
            var other = step
            other.caller = caller
            let request = try self.request(other)
            var fields = request.headerFields
            fields[.acceptEncoding] = request.acceptEncoding
            return RequestIdentity(request.url, fields)
        }
        server.note("\(step)")
        let isBoth = if case .both = step.action { world.style == .open } else { false }
        let restarting = step.restarts ? world.shown(step.caller) : nil
        server.begin(request.storeKey, restarting: restarting, isBoth: isBoth) { [weak server] in
            let entries = try await store.entries().filter { $0.receivedBytes > 0 && $0.name == request.storeKey }
            let names = entries.map(\.key)
            let (key, codes) = try await store.read { connection in
                let key = try connection.first("SELECT identity_key FROM store") { $0.blob(0) }
                let codes = try names.map { name in
                    try connection.first("SELECT requester FROM download WHERE key = ?", name) { $0.blob(0) }
                }
                return (key ?? [], codes)
            }
            var holders: [Int: Set<String?>] = [:]
            for caller in 0...1 {
                for (entry, code) in zip(entries, codes) where code == identities[caller].code(HashKey(key)) {
                    holders[caller, default: []].insert(
                        LyingServer.strongTag(entry.representation?.entityTag?.rawValue))
                }
            }
            server?.note("  stored: \(names), of callers \(holders.keys.sorted())")
            return holders
        }
        let image: @Sendable () throws -> StoreImage = { [self] in
            let number = state.withLock { state in
                state.images += 1
                return state.images
            }
            return try StoreImage(of: path, to: folder["killed-\(number)"], deliveredTo: folder["out"])
        }
        arm(step.ending, image)
        let task = Task { [self] in
            if case .both = step.action {
                var other = step
                (other.caller, other.digest, other.restarts) = (1 - step.caller, .none, false)
                async let first: Void = attempt(step, on: store, server)
                await attempt(other, on: store, server)
                await first
            } else {
                await attempt(step, on: store, server)
            }
        }
        let isCancelled = state.withLock { state in
            state.fate.task = task
            return state.fate.isCancelled
        }
        if isCancelled { task.cancel() }
        await task.value
        disarm()
        return state.withLock { state in
            defer { state.fate = Fate() }
            return state.fate.image
        }
    }

    // MARK: The end of a process

    private func arm(_ ending: Step.Ending, _ image: @escaping @Sendable () throws -> StoreImage) {
        onKill.withLock { $0 = image }
        state.withLock { state in
            state.fate = Fate()
            switch ending {
            case .none, .killPoint: break
            case .cancel(let steps): state.fate.stepsLeft = steps
            case .kill(let steps): (state.fate.stepsLeft, state.fate.isKill) = (steps, true)
            }
        }
        #if DEBUG
        if case .killPoint(let point, let occurrence) = ending {
            KillPoint.arm(point, occurrence: occurrence) { [self] in
                count("killed at \(point)")
                kill()
            }
        }
        #endif
    }

    private func disarm() {
        #if DEBUG
        KillPoint.disarm()
        #endif
        onKill.withLock { $0 = nil }
    }

    private let onKill = Mutex<(@Sendable () throws -> StoreImage)?>(nil)

    /// Takes the image of the store, and ends what goes on.
    private func kill() {
        guard state.withLock({ $0.fate.image == nil }) else { return }
        do {
            let image = try onKill.withLock { $0 }.map { try $0() }
            state.withLock { $0.fate.image = image }
        } catch {
            violate("the store could not be copied: \(error)")
        }
        cancel()
    }

    private func cancel() {
        let task = state.withLock { state in
            state.fate.isCancelled = true
            return state.fate.task
        }
        task?.cancel()
    }

    /// Is called at each step of the network: time passes, files change, the task or the process ends.
    private func networkStep() throws {
        let (ends, isKill, isDead, event) = state.withLock { state in
            let event = Int.random(in: 0..<200, using: &state.chance)
            let isDead = state.fate.image != nil
            guard let left = state.fate.stepsLeft else { return (false, false, isDead, event) }
            state.fate.stepsLeft = left > 0 ? left - 1 : nil
            return (left == 0, state.fate.isKill, isDead, event)
        }
        if isDead { throw Killed() }
        if event < 4 { random { [world] in world.change("/a.zip", &$0) } }
        if event == 4 { world.moveLatest() }
        if (5..<15).contains(event) { clock.advance(by: .milliseconds(300)) }
        if (15..<18).contains(event) { clock.advance(by: .seconds(6)) }
        guard ends else { return }
        if isKill {
            kill()
            throw Killed()
        }
        cancel()
        throw CancellationError()
    }

    // MARK: A download

    private func request(_ step: Step) throws -> DownloadRequest {
        let token = world.style == .token ? "?token=\(step.caller)" : ""
        let url = try DownloadURL("\(World.origin)\(step.path)\(token)")
        var request = DownloadRequest(url, to: folder["out/\(step.caller)\(step.path.dropFirst())"])
        if world.style == .authorization { request.headerFields[.authorization] = "Bearer \(step.caller)" }
        if step.hasKey { request.key = "key" }
        request.allowsUnvalidated = step.allowsUnvalidated
        request.restarts = step.restarts
        request.condition = step.condition
        request.retryPolicy = RetryPolicy(retries: 3, time: .seconds(20))
        request.waitClock = clock.jumpingClock
        let path = step.path == "/latest.zip" ? world.latest : step.path
        switch step.digest {
        case .none: break
        case .right: request.digest = world.current(path, for: step.caller)?.digest
        // That of another file, or of a typing error.
        case .wrong: request.digest = Version(bytes: Pool.bytes(11, 7)).digest
        }
        return request
    }

    private func attempt(_ step: Step, on store: DownloadStore, _ server: LyingServer) async {
        do {
            let request = try request(step)
            let name = String(request.destination.split(separator: "/").last ?? "")
            let before = try StoreImage.files(in: folder["out"])[name]
            let downloader = Downloader(store: store, transport: server)
            do {
                let result: DownloadResult
                if case .stream = step.action {
                    result = try await read(request, of: step, with: downloader)
                } else {
                    result = try await downloader.download(request)
                }
                count("delivered")
                server.forget(world.shown(step.caller))
                if isDead { return }
                check(result, try StoreImage.files(in: folder["out"])[name] ?? [], request, step)
            } catch {
                count("failed: \((error as? DownloadError)?.reason.code.rawValue ?? "\(error)".prefix(40).description)")
                if isDead || error is Killed { return }
                let after = try StoreImage.files(in: folder["out"])[name]
                if before != after, !isCurrent(after ?? [], step) {
                    violate("\(step): failed with \(error), and the file changed to \(after?.count ?? -1) bytes")
                }
            }
        } catch {
            violate("\(step): \(error)")
        }
    }

    private var isDead: Bool { state.withLock { $0.fate.image != nil } }

    /// Reads a stream to its end; what was read must be of one version at each moment.
    private func read(
        _ request: DownloadRequest, of step: Step, with downloader: Downloader
    ) async throws -> DownloadResult {
        let stream = downloader.makeStream(request)
        var bytes: [UInt8] = []
        do {
            for try await part in stream { bytes += part }
        } catch {
            let versions = world.versions(step.path, for: step.caller)
            if !bytes.isEmpty, !isDead, !versions.contains(where: { $0.begins(with: bytes) }) {
                violate("\(step): \(bytes.count) bytes of no version were read before \(error)")
            }
            throw error
        }
        if !isDead, !isCurrent(bytes, step) { violate("\(step): the stream has \(bytes.count) bytes of no version") }
        return try await stream.value
    }

    private func isCurrent(_ bytes: [UInt8], _ step: Step) -> Bool {
        world.versions(step.path, for: step.caller).contains { $0.isWhole(bytes) }
    }

    private func check(_ result: DownloadResult, _ bytes: [UInt8], _ request: DownloadRequest, _ step: Step) {
        let versions = world.versions(step.path, for: step.caller)
        if !isCurrent(bytes, step) {
            let part = versions.contains { $0.begins(with: bytes) }
            let other = (0...1).flatMap { caller in
                ["/latest.zip"].flatMap { world.versions($0, for: caller) }
            }.contains { $0.isWhole(bytes) }
            let kind =
                part ? "a part of a version" : other ? "a file that this caller would not get" : "a mix or a page"
            violate("\(step): delivered \(bytes.count) bytes, \(kind), proved \(result.isProved)")
        }
        if result.totalBytes != Int64(bytes.count) { violate("\(step): says \(result.totalBytes) bytes") }
        if let digest = request.digest, HTTPDigest(.sha256, of: bytes) != digest {
            violate("\(step): delivered bytes without the digest that was named")
        }
        if result.reusedBytes > 0 { count("resumed") }
        if !result.isProved { count("not proved") }
    }
}
