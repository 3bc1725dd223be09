import HTTPTypes
import ResumeHTTP
import ResumeStore

/// Requests for samples, several at a time.
extension DownloadRun {
    /// How many are sent at the same time, even if the file itself is received over one connection.
    private static let leastAtATime = 4

    mutating func answers(
        to requests: [SampleRequest],
        _ send: (inout DownloadRun, Plan) async throws -> FetchResponse<any ResponseBody>
    ) async throws -> [SampleAnswer] {
        guard requests.count > 1 else { return [try await answer(to: requests[0], send)] }
        var run = self
        run.fetched = 0
        let worker = run
        let (answers, bytes) = try await withThrowingTaskGroup(of: (SampleAnswer, Int64).self) { group in
            var answers: [SampleAnswer] = []
            var bytes: Int64 = 0
            var rest = requests.makeIterator()
            func start() {
                guard let request = rest.next() else { return }
                group.addTask {
                    var worker = worker
                    let answer = try await worker.answer(to: request) { try await $0.response(to: $1) }
                    return (answer, worker.fetched)
                }
            }
            for _ in 0..<max(Self.leastAtATime, worker.connections) { start() }
            while let (answer, count) = try await group.next() {
                answers.append(answer)
                bytes += count
                // The others may have the same status, or the server may be asked for one range at a time.
                guard answer.head.status == .partialContent else {
                    group.cancelAll()
                    break
                }
                start()
            }
            return (answers, bytes)
        }
        fetched += bytes
        return answers
    }
}
