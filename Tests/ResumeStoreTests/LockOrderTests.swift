import Synchronization
import Testing

@testable import ResumeStore

@Suite(.timeLimit(.minutes(5)))
struct LockOrderTests {
    @Test("A debug build stops where a thread takes locks in another order than the documented one")
    func order() async {
        let first = OrderedMutex(.commit, 1)
        let last = OrderedMutex(.state, 2)
        #expect(first.withLock { one in last.withLock { one + $0 } } == 3)
        // The place is given back.
        #expect(first.withLock { $0 } == 1)
        await #expect(processExitsWith: .failure) {
            let first = OrderedMutex(.commit, 1)
            let last = OrderedMutex(.state, 2)
            last.withLock { _ in first.withLock { _ in } }
        }
        await #expect(processExitsWith: .failure) {
            let one = OrderedMutex(.body, 1)
            let other = OrderedMutex(.body, 2)
            one.withLock { _ in other.withLock { _ in } }
        }
    }
}
