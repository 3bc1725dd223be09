import OriginServer
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ContentTests {
    @Test func anyRangeIsPartOfTheWhole() {
        let content = Content(length: 1003, seed: 7)
        let whole = content.bytes(in: content.all)
        #expect(whole.count == 1003)
        for first in stride(from: 0, to: 1003, by: 13) {
            for end in stride(from: first, through: 1003, by: 7) {
                #expect(content.bytes(in: Int64(first)..<Int64(end)) == Array(whole[first..<end]))
            }
        }
    }

    @Test func farRangesNeedNoMemory() {
        let content = Content(length: 5 << 40, seed: 1)
        let place: Int64 = 4_999_999_999_999
        let bytes = content.bytes(in: place..<place + 4096)
        #expect(bytes.count == 4096)
        #expect(content.matches(bytes[5...], at: place + 5))
        #expect(!content.matches(bytes, at: place + 1))
    }

    @Test func seedsAndLengths() {
        let one = Content(length: 4096, seed: 1)
        #expect(one == Content(length: 4096, seed: 1))
        #expect(one.bytes(in: 0..<4096) != Content(length: 4096, seed: 2).bytes(in: 0..<4096))
        #expect(Content(length: 9999, seed: 1).bytes(in: 0..<4096) == one.bytes(in: one.all))
        #expect(Set(one.bytes(in: one.all)).count == 256)
        #expect(Content(length: -1, seed: 1).length == 0)
    }

    @Test func bytesAreTheSameForever() {
        // A test that stores bytes between runs relies on this.
        let bytes = Content(length: 100, seed: 42).bytes(in: 3..<19)
        #expect(bytes == ContentTests.known)
    }

    @Test func literalBytes() {
        let content = Content("hello")
        #expect(content.length == 5)
        #expect(content == Content([104, 101, 108, 108, 111]))
        #expect(content.bytes(in: 1..<3) == [101, 108])
    }

    @Test(arguments: [Content("hello"), Content(length: 5, seed: 3)])
    func rangesAreCutDownToTheContent(content: Content) {
        #expect(content.bytes(in: 3..<99).count == 2)
        #expect(content.bytes(in: -3..<2) == content.bytes(in: 0..<2))
        #expect(content.bytes(in: 7..<9).isEmpty)
        #expect(content.bytes(in: 2..<2).isEmpty)
        #expect(!content.matches(content.bytes(in: 0..<5) + [0]))
        #expect(!content.matches([1], at: .max))
        #expect(content.matches([]))
    }

    private static let known: [UInt8] = [25, 91, 34, 140, 198, 126, 105, 126, 97, 80, 76, 98, 0, 236, 93, 250]
}
