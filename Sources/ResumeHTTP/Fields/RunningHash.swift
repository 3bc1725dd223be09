import CResumeChecksum

/// An incremental digest; a copy continues independently.
///
/// The package has its own implementation so that a store without the engine depends on no cryptography package. The
/// only one for Linux compiles all of BoringSSL for two functions.
package struct RunningHash: Sendable {
    package let algorithm: HTTPDigest.Algorithm
    private var state: resume_hash

    /// Begins a digest of no bytes.
    package init(_ algorithm: HTTPDigest.Algorithm) {
        self.algorithm = algorithm
        let kind =
            switch algorithm {
            case .md5: resume_md5
            case .sha1: resume_sha1
            case .sha256: resume_sha256
            case .sha512: resume_sha512
            }
        state = resume_hash_begin(kind)
    }

    /// Whether the digest is computed with the processor's SHA instructions.
    var usesInstructions: Bool { state.by_instruction != 0 }

    /// Computes the digest without the processor's SHA instructions, for tests.
    mutating func usePortableCode() { state.by_instruction = 0 }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        unsafe resume_hash_update(&state, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe update($0) }
    }

    /// Adds the digest of another hash.
    mutating func update(digestOf other: RunningHash) {
        unsafe resume_hash_update_digest(&state, other.state, other.algorithm.byteCount)
    }

    /// The digest of all bytes so far.
    package var digest: HTTPDigest? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            unsafe resume_hash_final(state, buffer.baseAddress)
            count = algorithm.byteCount
        }
        return HTTPDigest(algorithm, bytes: bytes)
    }
}

extension HTTPDigest {
    /// Computes the digest of bytes.
    package init?(_ algorithm: Algorithm, of bytes: some Sequence<UInt8>) {
        var hash = RunningHash(algorithm)
        hash.update(Array(bytes))
        guard let digest = hash.digest else { return nil }
        self = digest
    }
}
