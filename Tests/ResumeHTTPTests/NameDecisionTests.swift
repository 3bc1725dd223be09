import ResumeHTTP
import Testing

/// What a download does about the file at its destination, and when a digest counts without reading the file.
struct NameDecisionTests {
    private static let stamp = FileStamp(size: 10, modified: 5_000_000, changed: 6_000_000, inode: 7)
    private static let later = FileStamp(size: 10, modified: 9_000_000, changed: 9_500_000, inode: 7)
    private static let moved = FileStamp(size: 10, modified: 5_000_000, changed: 6_000_000, inode: 8)
    private static let digest = HTTPDigest(.sha256, of: [1])
    private static let other = HTTPDigest(.sha256, of: [2])

    @Test(
        "A name is decided from what has it, what was recorded of it, and the digest that is named",
        arguments: [
            (NameDecision.Found.nothing, FileStamp?.none, InPlaceDigest?.none, NameDecision.write),
            (.nothing, stamp, nil, .write),
            (.file(stamp), stamp, nil, .replace(stamp)),
            // Damaged, or an old version.
            (.file(stamp), stamp, .wrong, .replace(stamp)),
            (.file(stamp), stamp, .right(checkedAt: 3), .keep(checkedAt: 3)),
            (.file(stamp), nil, .right(checkedAt: 0), .keep(checkedAt: 0)),
            (.file(stamp), nil, nil, .compare(size: 10)),
            (.file(stamp), nil, .wrong, .refuse(.otherDigest)),
            // Another file with the same size and time.
            (.file(moved), stamp, nil, .compare(size: 10)),
            (.file(moved), stamp, .wrong, .refuse(.otherDigest)),
            // Changed since.
            (.file(later), stamp, nil, .compare(size: 10)),
            (.file(later), stamp, .wrong, .refuse(.otherDigest)),
            (.other(stamp), nil, nil, .refuse(.otherKind)),
            (.other(stamp), stamp, nil, .replace(stamp)),
            (.other(later), stamp, nil, .refuse(.otherKind)),
        ])
    func decisions(
        found: NameDecision.Found, own: FileStamp?, digest: InPlaceDigest?, expected: NameDecision
    ) {
        #expect(NameDecision(found, own: own, digest: digest) == expected)
        // A number takes the place of each refusal and comparison, and of nothing else.
        let numbered = NameDecision(found, own: own, digest: digest, renames: true)
        switch expected {
        case .compare, .refuse: #expect(numbered == .number)
        default: #expect(numbered == expected)
        }
    }

    @Test(
        "A part replaces only a file of its own length",
        arguments: [("0-9", true), ("0-8", false), ("0-10", false), ("1-", false), ("-10", false)])
    func parts(ranges: String, replaces: Bool) throws {
        let part = try #require(RangeSelection(ranges))
        let decision = NameDecision(.file(Self.stamp), own: Self.stamp, digest: nil, part: part)
        #expect(decision == (replaces ? .replace(Self.stamp) : .compare(size: 10)))
        #expect(
            NameDecision(.file(Self.stamp), own: Self.stamp, digest: .wrong, part: part)
                == (replaces ? .replace(Self.stamp) : .refuse(.otherDigest)))
    }

    @Test("A file that only the server's bytes can identify is judged by the length, then by its bytes or samples")
    func comparisons() {
        let large = NameDecision.comparedWhole
        #expect(NameDecision.Comparison(size: 10, length: 11) == .refuse(.otherLength(10, 11)))
        #expect(NameDecision.Comparison(size: 10, length: 10) == .whole)
        #expect(NameDecision.Comparison(size: 10, length: nil) == .whole)
        #expect(NameDecision.Comparison(size: large, length: large) == .whole)
        #expect(NameDecision.Comparison(size: large + 1, length: large + 1) == .samples)
        // Only what may be the beginning of the server's file is worth continuing.
        #expect(NameDecision.Refusal.otherLength(10, 11).mayContinue)
        #expect(
            !NameDecision.Refusal.otherLength(11, 10).mayContinue
                && !NameDecision.Refusal.otherLength(0, 10).mayContinue)
        #expect(!NameDecision.Refusal.differs(at: 3).mayContinue && NameDecision.Refusal.onlySampled.mayContinue)
    }

    @Test("A digest that was proved counts as long as size, times and inode are as recorded")
    func proofs() throws {
        let (digest, other) = (try #require(Self.digest), try #require(Self.other))
        let proof: InPlaceDigest.Proof = (digest, Self.stamp, 42)
        #expect(InPlaceDigest(digest, proof: proof, now: Self.stamp, keepsChangeTime: false) == .right(checkedAt: 42))
        #expect(InPlaceDigest(other, proof: proof, now: Self.stamp, keepsChangeTime: false) == .wrong)
        #expect(InPlaceDigest(digest, proof: nil, now: Self.stamp, keepsChangeTime: false) == .unread)
        var changed = Self.stamp
        changed.size += 1
        #expect(InPlaceDigest(digest, proof: proof, now: changed, keepsChangeTime: true) == .unread)
        for change: WritableKeyPath<FileStamp, Int64> in [\.size, \.modified] {
            var changed = Self.stamp
            changed[keyPath: change] += 1
            #expect(InPlaceDigest(digest, proof: proof, now: changed, keepsChangeTime: true) == .unread)
        }
        for (time, inode) in [(6_000_001, 7), (6_000_000, 8)] as [(Int64, UInt64)] {
            let changed = FileStamp(size: 10, modified: 5_000_000, changed: time, inode: inode)
            #expect(InPlaceDigest(digest, proof: proof, now: changed, keepsChangeTime: true) == .unread)
        }
        // A file system that knows no time of change reports that of the modification.
        let flat = FileStamp(size: 10, modified: 5_000_000, changed: 5_000_000, inode: 7)
        let flatProof: InPlaceDigest.Proof = (digest, flat, 42)
        #expect(InPlaceDigest(digest, proof: flatProof, now: flat, keepsChangeTime: false) == .unread)
        #expect(InPlaceDigest(digest, proof: flatProof, now: flat, keepsChangeTime: true) == .right(checkedAt: 42))
        let sha512 = try #require(HTTPDigest(.sha512, of: [1]))
        #expect(InPlaceDigest(sha512, proof: proof, now: Self.stamp, keepsChangeTime: false) == .unread)
    }

    @Test("A file is unmodified if size, time to the millisecond and inode are the same, as far as they are known")
    func unmodified() {
        let recorded = FileStamp(size: 10, modified: 5_000_000)
        #expect(Self.stamp.isUnmodified(since: recorded))
        #expect(FileStamp(size: 10, modified: 5_999_999).isUnmodified(since: recorded))
        #expect(!FileStamp(size: 10, modified: 6_000_000).isUnmodified(since: recorded))
        #expect(!FileStamp(size: 11, modified: 5_000_000).isUnmodified(since: recorded))
        #expect(recorded.isUnmodified(since: Self.stamp) && !Self.moved.isUnmodified(since: Self.stamp))
    }
}
