/// A limit for the time that something takes.
enum TimeLimit {
    /// Runs a closure, and cancels it after a time.
    ///
    /// What succeeds nevertheless counts, such as a delivery, which cannot be cancelled.
    ///
    /// - Parameters:
    ///   - limit: The time.
    ///   - failure: What is thrown after that time.
    ///   - body: The closure.
    ///   - willCancel: Called before the closure is cancelled because of the limit.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure, or the failure.
    static func run<Value: Sendable>(
        _ limit: Duration, otherwise failure: any Error, _ body: @escaping @Sendable () async throws -> Value,
        willCancel: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                willCancel()
                throw failure
            }
            guard let first = await group.nextResult() else { throw failure }
            group.cancelAll()
            if case .failure = first, case .success(let value)? = await group.nextResult() { return value }
            return try first.get()
        }
    }
}
