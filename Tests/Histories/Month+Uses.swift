internal import Foundation
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization
internal import TestSupport

/// Big files behind a hub: a token for each day, a redirect to a signed URL that expires, and lines that are cut.
extension Month {
    private struct Model: Sendable {
        let name: String
        let content: ArraySlice<UInt8>
        /// Whether its server sends a validator; the others are content-addressed, and the caller names the digest.
        let hasTag: Bool
    }

    func models() async throws {
        let pool = Pool.long
        let models = [10, 25, 60, 100].enumerated().map { number, size in
            // Different bytes at each position of two models.
            Model(
                name: "model-\(number).safetensors", content: pool[(number * 4096)...].prefix(size << 20),
                hasTag: number % 2 == 0)
        }
        let server = MonthServer(clock) { [self] request, now in
            let day = now.components.seconds / 86_400
            let path = request.path ?? ""
            guard let model = models.first(where: { path.contains($0.name) }) else { return .init(status: 404) }
            if request.authority == "hub.test" {
                guard request.headerFields[.authorization] == "Bearer \(day)" else { return .init(status: 401) }
                let expires = now.components.seconds + 3600
                let url = "https://cdn.test/\(model.name)?Expires=\(expires)&X-Amz-Signature=\(number(0...999_999))"
                return .init(status: 302, fields: [("Location", url)])
            }
            // Half an hour without a network each day.
            let isDown = (40_000..<41_800).contains(now.components.seconds % 86_400)
            let expires = path.firstMatch(of: /Expires=(\d+)/).flatMap { Int64($0.1) } ?? 0
            guard now.components.seconds < expires else { return .init(status: 403) }
            let tag = model.hasTag ? "\"\(model.name)\"" : nil
            let cut = number(1...max(model.content.count / 8, 2))
            return .init(
                status: 200, fields: [("Accept-Ranges", "bytes")], content: model.content, tag: tag, cut: cut,
                isDown: isDown)
        }
        change { $0.needed = models.reduce(0) { $0 + Int64($1.content.count) } }
        var missing = models
        for number in 0..<Self.days where !missing.isEmpty {
            clock.advance(to: Self.day * number + .seconds(38_000 + self.number(0...3000)))
            let store = try await open()
            let downloader = Downloader(store: store, transport: server)
            for model in missing {
                let url = try DownloadURL("https://hub.test/resolve/\(model.name)")
                var request = DownloadRequest(url, to: folder["out/\(model.name)"])
                request.headerFields[.authorization] = "Bearer \(number)"
                if !model.hasTag { request.digest = Version(bytes: Array(model.content)).digest }
                // Each day has time for a few requests.
                request.retryPolicy.retries = 3
                clock.begin(1)
                let isDone = await run(request, expecting: model.content, with: downloader)
                clock.end()
                if isDone { missing.removeAll { $0.name == model.name } }
            }
            await store.close()
        }
        for model in missing { change { $0.wrong.append("\(model.name) is not complete after a month") } }
        add(server)
    }
}

/// A list that runs each night.
extension Month {
    func list() async throws {
        let count = 2000
        let contents = Mutex((0..<count).map { number in (number, 0) })
        @Sendable func content(_ file: (Int, Int)) -> ArraySlice<UInt8> {
            Pool.long[(file.0 * 97 + file.1 * 31)...].prefix(1000 + file.0)
        }
        // One file is down for a week.
        let server = MonthServer(clock) { request, now in
            let number = Int((request.path ?? "").drop { !$0.isNumber }) ?? 0
            if number == 17, (3..<10).contains(now.components.seconds / 86_400) { return .init(status: 503) }
            let file = contents.withLock { $0[number] }
            return .init(status: 200, content: content(file), tag: "\"\(file.0)-\(file.1)\"")
        }
        for night in 0..<Self.days {
            clock.advance(to: Self.day * night + .seconds(10_000))
            let store = try await open()
            let downloader = Downloader(store: store, transport: server)
            // Ten files change each night, and the one that is down among them.
            contents.withLock { contents in
                for number in night == 0 ? [] : (0..<9).map({ _ in number(0...count - 1) }) + [17] {
                    contents[number].1 = night
                }
            }
            // One task for each processor.
            let files = contents.withLock { $0 }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<2 {
                    group.addTask { [self] in
                        for file in files where file.0 % 2 == lane {
                            let bytes = content(file)
                            if night == 0 || file.1 == night { change { $0.needed += Int64(bytes.count) } }
                            var request = DownloadRequest(
                                try DownloadURL("https://list.test/\(file.0)"), to: folder["out/\(file.0)"])
                            request.digest = Version(bytes: Array(bytes)).digest
                            request.ifExists = .revalidate
                            clock.begin(1)
                            let isDone = await run(request, expecting: bytes, with: downloader)
                            clock.end()
                            if !isDone, file.0 != 17 {
                                change { $0.wrong.append("\(file.0) failed in night \(night)") }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            await store.close()
        }
        add(server)
    }
}

/// Many machines that begin in the same second.
extension Month {
    func machines() async throws {
        let count = 200
        // Sixty requests a minute are answered.
        let answered = Mutex<[Int64: Int]>([:])
        let version = Mutex(0)
        let server = MonthServer(clock) { _, now in
            let minute = now.components.seconds / 60
            let isOver = answered.withLock { answered in
                answered[minute, default: 0] += 1
                return answered[minute, default: 0] > 60
            }
            guard !isOver else { return .init(status: 429, fields: [("Retry-After", "60")]) }
            let number = version.withLock { $0 }
            return .init(status: 200, content: Pool.long[(number * 997)...].prefix(50_000), tag: "\"\(number)\"")
        }
        let stores = try await Self.map(0..<count) { try await self.open("machine-\($0)") }
        // Once a week.
        for week in 0..<5 {
            clock.advance(to: Self.day * (week * 7))
            version.withLock { $0 = week }
            let content = Pool.long[(week * 997)...].prefix(50_000)
            clock.begin(count)
            await withTaskGroup(of: Void.self) { group in
                for (number, store) in stores.enumerated() {
                    group.addTask { [self] in
                        defer { clock.end() }
                        guard let url = try? DownloadURL("https://origin.test/update.bin") else { return }
                        var request = DownloadRequest(url, to: folder["out/\(number)"])
                        request.retryPolicy.retries = 8
                        let isDone = await run(
                            request, expecting: content, with: Downloader(store: store, transport: server))
                        if !isDone { change { $0.wrong.append("machine \(number) has no update in week \(week)") } }
                    }
                }
            }
            change { $0.needed += Int64(content.count * count) }
        }
        for store in stores { await store.close() }
        add(server)
    }

    private static func map<Value: Sendable>(
        _ numbers: Range<Int>, _ body: (Int) async throws -> Value
    ) async throws -> [Value] {
        var values: [Value] = []
        for number in numbers { values.append(try await body(number)) }
        return values
    }
}

/// A laptop in networks that want a login.
extension Month {
    func laptop() async throws {
        let pool = Pool.long
        let sizes = (0..<6).map { 3 + $0 * 2 }
        // The files of which the server has sent something.
        let begun = Mutex<Set<Int>>([])
        @Sendable func content(_ number: Int) -> ArraySlice<UInt8> {
            pool[(number * 8192)...].prefix(sizes[number] << 20)
        }
        let server = MonthServer(clock) { [self] request, now in
            if request.authority == "portal.test" {
                return .init(
                    status: 200, fields: [("Content-Type", "text/html")],
                    content: Array("<html>Log in</html>".utf8)[...],
                    tag: happens(50) ? "\"portal\"" : nil)
            }
            let hour = now.components.seconds / 3600 % 24
            let number = Int((request.path ?? "").filter(\.isNumber)) ?? 0
            // A portal in the morning: a redirect, or the page itself with status 200, which nothing contradicts
            // before the first byte of the file.
            if hour == 8 {
                guard happens(50), begun.withLock({ $0.contains(number) }) else {
                    return .init(status: 302, fields: [("Location", "https://portal.test/login")])
                }
                return .init(
                    status: 200, fields: [("Content-Type", "text/html")],
                    content: Array("<html>Accept</html>".utf8)[...])
            }
            if hour == 9 { return .init(status: 200, isDown: true) }
            begun.withLock { _ = $0.insert(number) }
            let bytes = content(number)
            return .init(
                status: 200, fields: [("Accept-Ranges", "bytes"), ("Content-Type", "application/zip")], content: bytes,
                tag: "\"file-\(number)\"", cut: self.number(1...bytes.count / 3))
        }
        var missing = Array(sizes.indices)
        change { $0.needed = sizes.indices.reduce(0) { $0 + Int64(content($1).count) } }
        for day in 0..<Self.days {
            // In the hotel, on the train, at home; the last hour has time for two requests.
            for hour in [8, 9, 10] where !missing.isEmpty {
                clock.advance(to: Self.day * day + .seconds(hour * 3600 + 60))
                let store = try await open()
                let downloader = Downloader(store: store, transport: server)
                for number in missing.prefix(2) {
                    let url = try DownloadURL("https://files.test/file\(number).zip")
                    var request = DownloadRequest(url, to: folder["out/file\(number).zip"])
                    request.retryPolicy.retries = 1
                    request.retryPolicy.time = .seconds(1)
                    clock.begin(1)
                    let isDone = await run(request, expecting: content(number), with: downloader)
                    clock.end()
                    if isDone { missing.removeAll { $0 == number } }
                    if isDone, hour == 8 { change { $0.wrong.append("a page was taken for file \(number)") } }
                }
                await store.close()
            }
        }
        for number in missing { change { $0.wrong.append("file \(number) is not complete after a month") } }
        add(server)
    }
}
