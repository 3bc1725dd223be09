package import OriginServer

extension Scenario {
    package static let all = validators + ranges + wholes + unsatisfiable + framing + codings + statuses

    static let validators = [
        Scenario("B02", "206 of another representation, If-Range ignored", truth: .new) { _ in .part(of: .new) },
        Scenario("B03", "206 without the entity tag", truth: .new) { _ in
            Response.part(of: .new).settingField("ETag", to: nil)
        },
        Scenario("B04", "206 with the tag made weak", truth: .new) { _ in .part(of: .new, etag: "W/\"a\"") },
        Scenario("B06", "G10: 206 with another complete length", truth: .new, .fails) { _ in
            .part(of: .new, etag: "\"a\"", range: "bytes 55904-99999/100001")
        },
        Scenario("B11", "206 with two entity tags", truth: .new) { _ in
            .part(of: .new, etag: "\"a\"", [("ETag", "\"b\"")])
        },
        Scenario("B13", "206 of other bytes under the same tag", truth: .disguised) { request in
            .file(.disguised, for: request)
        },
        Scenario("B16", "206 that has become a page", truth: .new) { _ in
            .part(of: .new, etag: "\"a\"", [("Content-Type", "text/html")])
        },
    ]

    static let ranges = [
        Scenario("C01", "206 that leaves a gap") { _ in .part(from: 61_000) },
        Scenario("C02", "206 that starts earlier") { _ in .part(from: 32_768) },
        Scenario("C03", "206 of what is held already") { _ in .part(from: 0, to: 50_000) },
        Scenario("C04", "last byte before the first") { _ in .part(range: "bytes 99999-60000/100000") },
        Scenario("C05", "complete length below the last byte") { _ in .part(range: "bytes 55904-99999/70000") },
        Scenario("C06", "complete length not told") { request in
            Response.file(.old, for: request).settingField(
                "Content-Range", to: "bytes \(Scenario.held - 4096)-99999/*")
        },
        Scenario("C07", "another range unit") { _ in .part(range: "items 55904-99999/100000") },
        Scenario("C08", "206 without Content-Range, the rest as body") { _ in
            Response.part().settingField("Content-Range", to: nil)
        },
        Scenario("C09", "206 without Content-Range, the whole as body") { _ in
            Response.part(from: 0).settingField("Content-Range", to: nil)
        },
        Scenario("C10", "Content-Range with an equals sign") { _ in .part(range: "bytes=55904-99999/100000") },
        Scenario("C11", "Content-Range beyond 64 bits") { _ in
            .part(range: "bytes 55904-99999999999999999999999/999999999999999999999999999")
        },
        Scenario("C12", "two Content-Range fields") { _ in .part([("Content-Range", "bytes 0-39999/100000")]) },
        Scenario("C13", "the unit in capitals") { request in
            Response.file(.old, for: request).settingField(
                "Content-Range", to: "BYTES \(Scenario.held - 4096)-99999/100000")
        },
        Scenario("C14", "206 that ends early, and says so") { _ in .part(from: 55_904, to: 80_000) },
        Scenario("C15", "Content-Length shorter than Content-Range", .fails) { _ in
            Response([
                .head(
                    status: "206 Partial Content",
                    fields: [
                        ("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000"), ("Content-Length", "100"),
                    ]), .body(Resource.old.content, 55_904..<56_004),
            ])
        },
        Scenario("C16", "more bytes than Content-Range says", .fails) { _ in
            Response.part(from: 55_904).settingField("Content-Range", to: "bytes 55904-99998/99999")
        },
        Scenario("C17", "multipart for a single range") { _ in
            .part([("Content-Type", "multipart/byteranges; boundary=x")])
        },
        Scenario("C19", "206 without a body", .fails) { _ in
            .status(
                "206 Partial Content", fields: [("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000")])
        },
        Scenario("C20", "206 that nobody asked for", always: true, .fails) { request in
            request.field("Range") == nil ? .part() : .status("400 Bad Request")
        },
    ]

    static let wholes = [
        Scenario("D01", "200, the range ignored") { _ in .file(.old, for: .whole) },
        Scenario("D02", "200 of another representation", truth: .new) { _ in .file(.new, for: .whole) },
        Scenario("D03", "200 without a validator", truth: .new) { _ in
            Response.file(.new, for: .whole).settingField("ETag", to: nil)
        },
        Scenario("D04", "200 as long as what is held", truth: .short) { _ in .file(.short, for: .whole) },
        Scenario("D05", "200 cut before what is held", truth: .new, .fails) { _ in
            .file(.new, for: .whole, cutAfter: 20_000)
        },
        Scenario("D06", "a page in place of the file", always: true, .fails) { _ in
            .status("200 OK", fields: [("Content-Type", "text/html")], body: Array("<html>Log in</html>".utf8))
        },
        Scenario("D07", "200 in chunks", truth: .new) { _ in
            var chunked = Resource.new
            chunked.framing = .chunked(size: 7000)
            return .file(chunked, for: .whole)
        },
        Scenario("D10", "203 from a proxy that changes things", truth: .new) { _ in
            Response.file(.new, for: .whole).settingStatus("203 Non-Authoritative Information")
        },
    ]

    static let unsatisfiable = [
        Scenario("E02", "416, shorter than what is held", truth: .short) { _ in
            .status("416 Range Not Satisfiable", fields: [("Content-Range", "bytes */50000")])
        },
        Scenario("E03", "416 although there is more") { _ in
            .status("416 Range Not Satisfiable", fields: [("Content-Range", "bytes */100000")])
        },
        Scenario("E04", "416 without Content-Range") { _ in
            .status("416 Range Not Satisfiable", body: Array("<html>416</html>".utf8))
        },
        Scenario("E06", "416 as long as what is held, but changed", truth: .short) { _ in
            .status("416 Range Not Satisfiable", fields: [("Content-Range", "bytes */60000"), ("ETag", "\"c\"")])
        },
        Scenario("E08", "400 to a range") { _ in .status("400 Bad Request") },
        Scenario("E09", "416 to everything", always: true, .fails) { _ in .status("416 Range Not Satisfiable") },
        Scenario("E10", "500 to a range") { _ in .status("500 Internal Server Error") },
    ]

    static let framing = [
        Scenario("F02", "206 cut", .fails) { .file(.old, for: $0, cutAfter: 4096) },
        Scenario("F03", "206 in chunks, cut before the last one", .fails) { _ in
            Response([
                .head(
                    status: "206 Partial Content",
                    fields: [
                        ("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000"),
                        ("Transfer-Encoding", "chunked"),
                    ]), .chunked(Resource.old.content, 55_904..<55_904, chunkSize: 100), .close,
            ])
        },
        Scenario("F12", "206 that ends with its connection, too long") { _ in
            Response([
                .head(
                    status: "206 Partial Content",
                    fields: [
                        ("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000"), ("Connection", "close"),
                    ]), .body(Resource.old.content, 55_904..<100_000), .raw([1, 2, 3]), .close,
            ])
        },
        Scenario("F13", "103 and 100 before the answer") { request in
            var steps: [Step] = [
                .raw(Array("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n".utf8))
            ]
            steps += Response.file(.old, for: request).steps
            return Response(steps)
        },
        Scenario("F07", "length and chunks at once", .fails) { _ in
            .part([("Transfer-Encoding", "chunked")])
        },
        Scenario("F17", "no status line") { _ in Response([.raw(Array("hello\r\n".utf8)), .close]) },
        Scenario("F19", "broken connection", .fails) { .file(.old, for: $0, cutAfter: 4096, reset: true) },
        Scenario("F20", "silence", .fails, isSilent: true) { .file(.old, for: $0, cutAfter: 4096, stall: true) },
        Scenario("F22", "no answer", .fails, isSilent: true) { _ in Response([.hold]) },
    ]

    static let codings = [
        Scenario("G01", "206 of the compressed form", truth: .new) { _ in
            .part(of: .new, etag: "\"a-gzip\"", [("Content-Encoding", "gzip")])
        },
        Scenario("G02", "206 of the compressed form under the same tag", truth: .new) { _ in
            .part(of: .new, etag: "\"a\"", [("Content-Encoding", "gzip")])
        },
        Scenario("G03", "200, compressed although identity was asked for", always: true, .fails) { _ in
            Response.file(.new, for: .whole).settingField("Content-Encoding", to: "gzip")
        },
        Scenario("G06", "Content-Encoding: identity") { request in
            Response.file(.old, for: request).settingField("Content-Encoding", to: "identity")
        },
    ]

    static let statuses = [
        Scenario("I01", "401", .fails) { _ in .status("401 Unauthorized") },
        Scenario("I02", "403 to a range") { _ in .status("403 Forbidden") },
        Scenario("I02", "403 to everything", always: true, .fails) { _ in .status("403 Forbidden") },
        Scenario("I03", "404 to a range") { _ in .status("404 Not Found") },
        Scenario("I03", "404 to everything", always: true, .fails) { _ in .status("404 Not Found") },
        Scenario("I07", "502", .fails) { _ in .status("502 Bad Gateway", body: Array("bad".utf8)) },
        Scenario("I09", "304", always: true, .fails) { _ in .status("304 Not Modified") },
        Scenario("I11", "204", always: true, .fails) { _ in .status("204 No Content") },
        Scenario("I12", "206 page without Content-Range") { _ in
            .status("206 Partial Content", fields: [("Content-Type", "text/html")], body: Array("<html>".utf8))
        },
        Scenario("I14", "202", always: true, .fails) { _ in .status("202 Accepted", body: Array("wait".utf8)) },
        Scenario("I16", "status 600", always: true, .fails) { _ in .status("600 What") },
    ]
}

extension OriginRequest {
    /// A request for the whole file.
    package static let whole = OriginRequest(
        number: 1, connection: 1, method: "GET", target: "/", version: "HTTP/1.1", fields: [])
}
