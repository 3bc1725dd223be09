#if canImport(Glibc)
import Glibc
import TestSupport
import Testing

/// Programs that tests start.
@Suite(.timeLimit(.minutes(5)))
struct ChildProcessTests {
    @Test("A child program inherits its own descriptors, and none of the test's")
    func descriptors() async throws {
        let ours = fcntl(STDIN_FILENO, F_DUPFD, 100)
        defer { close(ours) }
        let open = try await Shell.run("sh", "-c", "for file in /proc/$$/fd/*; do echo ${file##*/}; done")
        #expect(ours >= 100)
        #expect(!open.split(separator: "\n").contains("\(ours)"))
    }
}
#endif
