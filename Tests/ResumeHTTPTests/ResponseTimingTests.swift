import HTTPTypes
@testable import ResumeHTTP
import Testing

/// The waits that follow from the fields of a rate limit.
@Suite(.timeLimit(.minutes(5)))
struct ResponseTimingTests {
    private func seconds(_ status: Int, _ lines: [String]) -> Int64? {
        ResponseTiming(response(status, lines + ["Date: \(Fixture.sent)"])).afterSeconds
    }

    @Test(
        "A14: RateLimit and its relatives in every form, if nothing remains",
        arguments: [
            (["RateLimit: \"default\";r=0;t=20"], 20),
            (["RateLimit: \"a\";r=9;t=5, \"b\";r=0;t=60, \"c\";r=0;t=7"], 60),
            (["RateLimit: limit=100, remaining=0, reset=20"], 20),
            (["RateLimit: limit=100;w=60, remaining=0, reset=3"], 3),
            (["RateLimit-Remaining: 0", "RateLimit-Reset: 12"], 12),
            (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 12"], 12),
            (["x-rate-limit-remaining: 0", "x-rate-limit-reset: 9"], 9),
            (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 784111792"], ResponseTiming.RetryAfter.longest),
            (["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1.25"], 2),
        ] as [([String], Int64)])
    func exhausted(lines: [String], expected: Int64) {
        for status in [202, 403, 404, 429, 500, 503] { #expect(seconds(status, lines) == expected, "\(status)") }
        for status in [200, 206, 401, 410, 501] { #expect(seconds(status, lines) == nil, "\(status)") }
    }

    @Test("A14: a reset above 10^9 is a date, relative to the response's own Date")
    func date() {
        let head = ["X-RateLimit-Remaining: 0", "Date: Sun, 09 Sep 2001 01:46:41 GMT"]
        func seconds(_ reset: String) -> Int64? {
            ResponseTiming(response(429, head + ["X-RateLimit-Reset: \(reset)"])).afterSeconds
        }
        #expect(seconds("1000000000") == ResponseTiming.RetryAfter.longest)
        #expect(seconds("1000000001") == 0)
        #expect(seconds("1000000061") == 60)
        #expect(seconds("1000003601") == 3600)
        #expect(seconds("99999999999999999999") == ResponseTiming.RetryAfter.longest)
        let undated = ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1000000061"]
        #expect(ResponseTiming(response(429, undated)).afterSeconds == nil)
    }

    @Test("A14: fields that come with every response count only with 403 and 429", arguments: [202, 404, 500, 503])
    func accompanying(status: Int) {
        for lines in [
            ["RateLimit: \"default\";r=49;t=20"], ["X-RateLimit-Remaining: 4999", "X-RateLimit-Reset: 20"],
            ["RateLimit-Reset: 20"], ["RateLimit: limit=100, remaining=3, reset=20"],
        ] {
            #expect(seconds(status, lines) == nil)
            #expect(seconds(403, lines) == 20)
            #expect(seconds(429, lines) == 20)
        }
        #expect(!ResponseTiming(response(404, ["X-RateLimit-Remaining: 4999", "X-RateLimit-Reset: 20"])).isTemporary)
        #expect(ResponseTiming(response(404, ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 20"])).isTemporary)
    }

    @Test("Retry-After takes precedence, and malformed limits say nothing")
    func precedence() {
        #expect(seconds(429, ["Retry-After: 3", "RateLimit: \"a\";r=0;t=20"]) == 3)
        for text in ["", ";;;", "=", "r=0;t=", "\"a\";r=0;t=-1", "\"a\";r=x;t=y", ",,,", "r;t"] {
            #expect(seconds(429, ["RateLimit: \(text)"]) == nil, "\(text)")
        }
        for text in ["", "-1", "x", "\u{661}"] { #expect(seconds(429, ["RateLimit-Reset: \(text)"]) == nil) }
    }
}
