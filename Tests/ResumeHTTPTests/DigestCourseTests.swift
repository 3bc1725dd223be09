@testable import ResumeHTTP
import Testing

/// What follows from a complete file with a wrong digest.
@Suite(.timeLimit(.minutes(5)))
struct DigestCourseTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var isNamed = false
        var isMarked = false
        var isProved = false
        var hasResponse = false
        var isOfOneResponse = false
        let steps: [DigestCourse.Step]

        var testDescription: String {
            "named \(isNamed), marked \(isMarked), proved \(isProved), answered \(hasResponse), one \(isOfOneResponse)"
        }
    }

    /// Each of the five facts, and what two wrong files in a row lead to.
    static let cases: [Case] = [
        // The server's digest: its file may have been damaged on the way, once.
        Case(steps: [.fetchAgain, .giveUp]),
        Case(isProved: true, hasResponse: true, isOfOneResponse: true, steps: [.fetchAgain, .giveUp]),
        Case(isMarked: true, steps: [.fetchAgain, .giveUp]),
        // The caller's digest, and bytes that may be wrong.
        Case(isNamed: true, steps: [.fetchAgain, .giveUp]),
        Case(isNamed: true, hasResponse: true, steps: [.fetchAgain, .giveUp]),
        // Bytes that the server has, as soon as it says so.
        Case(isNamed: true, isProved: true, steps: [.ask, .ask]),
        Case(isNamed: true, isProved: true, hasResponse: true, steps: [.refuse, .refuse]),
        Case(isNamed: true, hasResponse: true, isOfOneResponse: true, steps: [.refuse, .refuse]),
        // Bytes that only another digest can prove.
        Case(isNamed: true, isMarked: true, steps: [.refuse, .refuse]),
        Case(isNamed: true, isMarked: true, isProved: true, steps: [.refuse, .refuse]),
    ]

    @Test(
        "The digest of the server is tried twice, that of the caller until the server confirms the bytes",
        arguments: cases)
    func steps(_ given: Case) {
        var course = DigestCourse()
        (course.hasResponse, course.isOfOneResponse) = (given.hasResponse, given.isOfOneResponse)
        let steps = given.steps.map { _ in
            course.next(isNamed: given.isNamed, isMarked: given.isMarked, isProved: given.isProved)
        }
        #expect(steps == given.steps)
    }

    @Test("A body answers, and brings all bytes or goes on; a complete file is confirmed; other responses say nothing")
    func responses() {
        let representation = Representation(completeLength: 10)
        let reason = Reason.firstRequest
        var course = DigestCourse()
        course.receive(.retry(reason, afterSeconds: nil))
        course.receive(.askForWhole(reason))
        course.receive(.refuse(reason))
        #expect(!course.hasResponse && !course.isOfOneResponse)
        course.receive(.startOver(representation, reason))
        #expect(course.hasResponse && course.isOfOneResponse)
        course.hasResponse = false
        course.receive(.complete(representation, reason))
        #expect(course.hasResponse && course.isOfOneResponse)
        course.receive(.append(Verdict.Continuation(whole: representation, reason: reason)))
        #expect(course.hasResponse && !course.isOfOneResponse)
    }

    @Test("No history fetches the file again more than once")
    func histories() {
        let flags = [false, true]
        var histories: [(course: DigestCourse, again: Int)] = [(DigestCourse(), 0)]
        for _ in 0..<3 {
            histories = histories.flatMap { history in
                flags.flatMap { isNamed in
                    flags.flatMap { isProved in
                        flags.flatMap { isMarked in
                            (0..<4).map { answer in
                                var (course, again) = history
                                (course.hasResponse, course.isOfOneResponse) = (answer & 1 != 0, answer & 2 != 0)
                                let step = course.next(isNamed: isNamed, isMarked: isMarked, isProved: isProved)
                                if step == .fetchAgain { again += 1 }
                                return (course, again)
                            }
                        }
                    }
                }
            }
        }
        #expect(histories.allSatisfy { $0.again <= 1 })
        #expect(histories.contains { $0.again == 1 })
    }
}
