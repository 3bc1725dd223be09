/// Waits for something that has to happen.
///
/// The limit is there for what never happens: it is long enough for a machine that is busy with other things.
///
/// - Parameters:
///   - what: What is waited for, for the error.
///   - process: The program that does it; nil where it is not one program.
///   - limit: How long to wait at most.
///   - condition: Whether it has happened.
/// - Throws: ``Shell/Failure`` if it does not happen in time, or the program ends before; what `condition` throws.
package func wait(
    for what: String, while process: ChildProcess? = nil, within limit: Duration = .seconds(600),
    until condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        // Asked for before the condition, which what a program did last may have fulfilled.
        let ending = process?.result
        if try await condition() { return }
        if let ending { throw Shell.Failure(description: "The program ended before this happened: \(what): \(ending)") }
        guard ContinuousClock.now < deadline else {
            throw Shell.Failure(description: "This did not happen within \(limit): \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
