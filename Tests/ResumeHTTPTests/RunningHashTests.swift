@testable import ResumeHTTP
import TestSupport
import Testing

/// NIST's example digests, and the two implementations compared with each other.
@Suite(.timeLimit(.minutes(5)))
struct RunningHashTests {
    /// An input and its digests.
    struct Example: Sendable, CustomTestStringConvertible {
        var input: [UInt8]
        var digests: [HTTPDigest.Algorithm: String]

        init(_ input: String, repeated count: Int = 1, md5: String, sha1: String, sha256: String, sha512: String) {
            self.input = Array(repeatElement(Array(input.utf8), count: count).joined())
            digests = [.md5: md5, .sha1: sha1, .sha256: sha256, .sha512: sha512]
        }

        var testDescription: String { "\(input.count) bytes" }
    }

    // Source: csrc.nist.gov, Cryptographic Standards and Guidelines, Example Values; MD5 by md5sum.
    static let examples = [
        Example(
            "", md5: "d41d8cd98f00b204e9800998ecf8427e", sha1: "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            sha512: "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"),
        Example(
            "abc", md5: "900150983cd24fb0d6963f7d28e17f72", sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            sha512: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
        Example(
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            md5: "8215ef0796a20bcaaae116d3876c664a", sha1: "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            sha256: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            sha512: "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
                + "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445"),
        Example(
            "a", repeated: 1_000_000,
            md5: "7707d6ae4e027c70eea2a935c2296f21", sha1: "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
            sha256: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            sha512: "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"),
    ]

    @Test("The digests match published examples", arguments: examples, HTTPDigest.Algorithm.allCases)
    func digests(example: Example, algorithm: HTTPDigest.Algorithm) {
        #expect(HTTPDigest(algorithm, of: example.input)?.hexadecimal == example.digests[algorithm])
        var hash = RunningHash(algorithm)
        hash.usePortableCode()
        #expect(!hash.usesInstructions)
        example.input.withUnsafeBytes { hash.update($0) }
        #expect(hash.digest?.hexadecimal == example.digests[algorithm])
    }

    @Test("Every length up to four blocks, in pieces, with either code path", arguments: HTTPDigest.Algorithm.allCases)
    func pieces(algorithm: HTTPDigest.Algorithm) {
        var random = SplitMix64(seed: 12)
        let bytes = sampleBytes(520)
        for length in 0...bytes.count {
            var whole = RunningHash(algorithm)
            bytes[..<length].withUnsafeBytes { whole.update($0) }
            var portable = RunningHash(algorithm)
            portable.usePortableCode()
            var position = 0
            while position < length {
                let end = Int.random(in: position...length, using: &random)
                bytes[position..<end].withUnsafeBytes { portable.update($0) }
                // A copy that is finished early leaves the original unchanged.
                _ = portable.digest
                position = end
            }
            #expect(portable.digest == whole.digest, "\(length) bytes, seed 12")
        }
    }
}
