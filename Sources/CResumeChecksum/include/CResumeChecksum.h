// CRC-32C (Castagnoli), SHA-256 and SHA-512, computed with the fastest instructions of the processor.
#ifndef CRESUMECHECKSUM_H
#define CRESUMECHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// Adds bytes to a checksum, which is 0 at the beginning.
uint32_t resume_crc32c(uint32_t checksum, const void *bytes, size_t count);

/// The implementations, which all give the same result.
enum resume_crc32c_way {
    /// A table; available everywhere.
    resume_crc32c_table,
    /// The processor's CRC-32C instruction (SSE 4.2, ARMv8).
    resume_crc32c_instruction,
    /// Carry-less multiplication of 256 bytes at a time (AVX-512, VPCLMULQDQ).
    resume_crc32c_folding,
};

/// Returns the fastest implementation that this processor supports.
enum resume_crc32c_way resume_crc32c_best(void);

/// Computes `resume_crc32c` with a given implementation, up to `resume_crc32c_best`; for tests.
uint32_t resume_crc32c_by(enum resume_crc32c_way way, uint32_t checksum, const void *bytes, size_t count);

/// The state of a SHA-256 or SHA-512 computation. A copy continues independently.
struct resume_sha2 {
    union {
        uint32_t words_32[8];
        uint64_t words_64[8];
    } state;
    /// The number of bytes hashed so far, including those in `block`.
    uint64_t count;
    /// The number of bytes in a block: 64 (SHA-256) or 128 (SHA-512).
    uint8_t block_size;
    /// Whether the processor's SHA instructions are used. Tests clear this to check the portable code.
    uint8_t by_instruction;
    /// The bytes of an incomplete block.
    uint8_t block[128];
};

/// Begins a SHA-256.
struct resume_sha2 resume_sha256(void);

/// Begins a SHA-512.
struct resume_sha2 resume_sha512(void);

/// Adds bytes to a hash.
void resume_sha2_update(struct resume_sha2 *hash, const void *bytes, size_t count);

/// Writes the digest of all bytes so far: 32 bytes (SHA-256) or 64 (SHA-512).
void resume_sha2_final(struct resume_sha2 hash, uint8_t *digest);

#endif
