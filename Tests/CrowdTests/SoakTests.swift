import Crowd
import TestSupport
import Testing

/// T39 as it happens: several processes, no moment chosen.
///
/// `WALResetTests` has the one moment.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct SoakTests {
    @Test("T39: without the store's lock the write-ahead log is reset inside a checkpoint before long, and damages")
    func unguarded() async throws {
        var damaged = 0
        var runs: UInt64 = 0
        // More than half of the runs do, so twelve are enough; where the library is mended, four show that none does.
        while damaged == 0, runs < (WALSoak.hasBug ? 12 : 4) {
            runs += 1
            let outcome = try await WALSoak(isGuarded: false, seconds: 2, seed: .random(in: 0...UInt64.max)).run()
            #expect(outcome.committed > 0 && outcome.checkpoints > 0)
            if outcome.damage != nil { damaged += 1 }
        }
        #expect((damaged > 0) == WALSoak.hasBug, "\(damaged) of \(runs)")
    }

    @Test("T39: with the store's lock it never is")
    func guarded() async throws {
        for _ in 0..<3 {
            let outcome = try await WALSoak(isGuarded: true, seconds: 2, seed: .random(in: 0...UInt64.max)).run()
            #expect(outcome.committed > 0 && outcome.checkpoints > 0)
            #expect(outcome.damage == nil)
        }
    }
}
