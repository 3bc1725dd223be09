/// Waits for something that must happen.
///
/// The limit ends a wait for something that never happens. It is long enough for a busy machine.
///
/// - Parameters:
///   - what: What is waited for, for the error; without it, the place in the test.
///   - process: The program that does it; nil if it is not one program.
///   - limit: The maximum wait.
///   - file: The file of the test.
///   - line: The line of the test.
///   - condition: Whether it has happened.
/// - Throws: ``Shell/Failure`` if it does not happen in time, or the program ends before; any error from `condition`.
package func wait(
    for what: @autoclosure () -> String? = nil, while process: ChildProcess? = nil,
    within limit: Duration = .seconds(600),
    file: StaticString = #fileID, line: UInt = #line, until condition: () async throws -> Bool
) async throws {
    func never() -> String { what() ?? "\(file):\(line)" }
    let deadline = ContinuousClock.now + limit
    while true {
        // Read before the condition, which the program's last action may have fulfilled.
        let ending = process?.result
        if try await condition() { return }
        if let ending {
            throw Shell.Failure(description: "The program ended before this happened: \(never()): \(ending)")
        }
        guard ContinuousClock.now < deadline else {
            throw Shell.Failure(description: "This did not happen within \(limit): \(never())")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
