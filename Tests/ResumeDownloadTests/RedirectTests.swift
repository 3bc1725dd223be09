import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Redirects, and what each server learns, on the wire.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct RedirectTests {
    private static func redirect(_ status: Int = 302, to location: String, body: Int = 0) -> Response {
        .status(
            "\(status) Elsewhere", fields: [("Location", location)], body: Array(repeating: 0x61, count: body))
    }

    @Test("H01: range and condition are sent on every hop", arguments: [301, 302, 303, 307, 308])
    func resumed(status: Int) async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                switch request.path {
                case "/file": Self.redirect(status, to: "/second")
                case "/second": Self.redirect(status, to: "third?signature=1#fragment")
                default: .file(.old, for: request)
                }
            }
            let result = try await origin.get()
            // The address is another one than before: samples are compared there.
            #expect(result.reusedBytes == 60_000 && !result.isProved)
            #expect(try origin.hasDelivered(.old))
            #expect(origin.requests(after: 4).allSatisfy { $0.target == "/third?signature=1" })
            let requests = origin.requests(after: 1).prefix(3)
            #expect(requests.map(\.target) == ["/file", "/second", "/third?signature=1"])
            let conditions = requests.map { "\($0.field("Range") ?? "") \($0.field("If-Range") ?? "")" }
            #expect(conditions == Array(repeating: "bytes=55904- \"a\"", count: 3))
        }
    }

    @Test("H02: a target that is signed differently each time is the same download")
    func signed() async throws {
        let handler: Origin.Handler = { request in
            request.path == "/file"
                ? Self.redirect(to: "/cdn?signature=\(request.number)")
                : .file(.old, for: request, cutAfter: request.number == 2 ? 60_000 : nil)
        }
        try await Origin.with(handler) { origin async throws in
            #expect(try await origin.get().totalBytes == 100_000)
            #expect(try origin.hasDelivered(.old))
            #expect(origin.server.requests.last?.field("Range") == "bytes=55904-")
        }
    }

    @Test("H03: a target elsewhere with the same tag and other bytes is detected")
    func sameTagElsewhere() async throws {
        try await OriginServer.withServer(handler: { .file(.disguised, for: $0) }) { other in
            try await Origin.afterCut { origin in
                let location = other.baseURL + "/file"
                origin.server.setHandler { _ in Self.redirect(to: location) }
                try await origin.get(.disguised)
                #expect(try await origin.reasons().contains("spot-check-differs"))
            }
        }
    }

    @Test("L09, H03: the same key at another origin: stored bytes are compared there, whatever was requested")
    func movedOrigin() async throws {
        try await OriginServer.withServer(handler: { .file(.disguised, for: $0) }) { other in
            try await Origin.afterCut(configure: { $0.key = "image" }) { origin in
                let result = try await Engine.get(
                    other.baseURL + "/file", to: origin.folder["out"], store: origin.store
                ) { request in
                    request.key = "image"
                    request.overlap = 0
                }
                #expect(result.reusedBytes == 0)
                #expect(try origin.hasDelivered(.disguised))
            }
        }
    }

    @Test(
        "H13: blanks and raw UTF-8 in Location are percent-encoded",
        .curlOnly("libcurl and Foundation encode them in their own ways"),
        arguments: [
            ("/two words.zip", "/two%20words.zip"), ("/a%20b c/\u{E8}.zip", "/a%20b%20c/%C3%A8.zip"),
        ])
    func rawLocation(location: String, target: String) async throws {
        try await Self.follows(Array(location.utf8), to: target)
    }

    @Test(
        "H13: a Location with bytes that are not UTF-8 is followed byte by byte", .curlOnly("as above"),
        arguments: [("/Fran\u{E7}ais/\u{E8}.zip", "/Fran%E7ais/%E8.zip")])
    func latinLocation(location: String, target: String) async throws {
        let bytes = location.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        try await Self.follows(bytes, to: target)
    }

    private static func follows(_ location: [UInt8], to target: String) async throws {
        try await Origin.with({ request in
            guard request.path == "/file" else { return .file(.old, for: request) }
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ".utf8)
            return Response([.raw(head + location + Array("\r\n\r\n".utf8))])
        }) { origin in
            try await origin.get(.old)
            #expect(origin.server.requests.map(\.target) == ["/file", target])
        }
    }

    @Test("H04: a target that ignores ranges is read from the start")
    func wholeElsewhere() async throws {
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                guard request.path != "/file" else { return Self.redirect(to: "/plain") }
                var resource = Resource.new
                resource.ignoresRange = true
                return .file(resource, for: request)
            }
            try await origin.get(.new)
        }
    }

    @Test(
        "H06, H07, H08, T36: secrets are sent only to the origin they are for", arguments: ["127.0.0.1", "localhost"])
    func secrets(host: String) async throws {
        try await OriginServer.withServer(handler: { _ in .status("404 Not Found") }) { other in
            let there = "http://\(host):\(other.port)/there"
            try await Origin.with({ _ in .status("404 Not Found") }) { origin in
                let back = origin.server.baseURL + "/back"
                other.setHandler { _ in Self.redirect(to: back) }
                origin.server.setHandler { request in
                    request.path == "/file" ? Self.redirect(to: there) : .file(.old, for: request)
                }
                let secret = try #require(HTTPField.Name("X-Api-Key"))
                _ = try await origin.get { request in
                    request.headerFields[.authorization] = "Bearer 1"
                    request.headerFields[.cookie] = "a=b"
                    request.headerFields[.proxyAuthorization] = "Basic 1"
                    request.headerFields[secret] = "key"
                    request.secretHeaderFields = [secret]
                    request.headerFields[.acceptLanguage] = "de"
                }
                let names = ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Accept-Language"]
                let sent = { (request: OriginRequest?) in names.filter { request?.field($0) != nil } }
                #expect(sent(origin.server.requests.first) == names)
                #expect(sent(other.requests.first) == ["Accept-Language"])
                // They are not sent on the way back either.
                #expect(sent(origin.server.requests.last) == ["Accept-Language"])
                #expect(try origin.hasDelivered(.old))
            }
        }
    }

    @Test(
        "H10, H11, H12, H15: an invalid redirect is refused, and stored bytes stay",
        arguments: [
            (302, "/file"), (302, "file:///etc/passwd"), (302, "ftp://127.0.0.1/file"), (302, "data:,x"),
            (302, "javascript:1"), (302, "http:///x"), (302, "http://%2e%2e%2fx/"), (302, "http://a b/"), (302, ""),
            (300, "/other"), (304, "/other"),
        ])
    func refused(status: Int, location: String) async throws {
        try await Origin.afterCut { origin async throws in
            origin.server.setHandler { _ in Self.redirect(status, to: location) }
            await origin.fails(.refused)
            #expect(origin.requests(after: 1).count <= 21)
            #expect(try await origin.store.totals().receivedBytes == 60_000)
        }
    }

    @Test(
        "H14: the body of a redirect is not waited for, and not written",
        .curlOnly("FoundationNetworking reads it to its end, which holds up all sessions"))
    func largeBody() async throws {
        try await Origin.with({ request in
            request.path == "/file" ? Self.redirect(to: "/other", body: 1 << 30) : .file(.old, for: request)
        }) { origin async throws in
            #expect(try await origin.get().fetchedBytes == 100_000)
            #expect(try origin.hasDelivered(.old))
            // How much is sent before the server sees the close depends on buffers and on the machine.
            #expect(origin.server.bodyBytesSent < 512 << 20)
        }
    }

    @Test("L08: the caller's check sees each URL before a request is sent there")
    func permits() async throws {
        try await Origin.with({ request in
            request.path == "/file" ? Self.redirect(to: "http://169.254.169.254/latest") : .file(.old, for: request)
        }) { origin in
            let error = await origin.failure { request in
                request.permits = { $0.host == "127.0.0.1" }
            }
            #expect(error?.reason.code.rawValue == "not-permitted")
            #expect(error?.reason.text.contains("169.254.169.254") == true)
            await origin.fails(.refused) { $0.permits = { _ in false } }
            #expect(origin.server.requests.count == 1)
        }
    }

    @Test("L08: no request is sent to an address that is not permitted", .curlOnly("URLSession does not tell it"))
    func permitsAddress() async throws {
        try await Origin.with({ .file(.old, for: $0) }) { origin in
            let error = await origin.failure(
                transport: .init(connectTimeout: Engine.patience, threads: 1, permitsAddress: { $0 != "127.0.0.1" }))
            #expect(error?.code == .refused)
            #expect(error?.reason.code.rawValue == "address-not-permitted")
            #expect(origin.server.requests.isEmpty)
            _ = try await origin.get(
                transport: .init(connectTimeout: Engine.patience, threads: 1, permitsAddress: { $0 == "127.0.0.1" }))
            #expect(try origin.hasDelivered(.old))
        }
    }
}
