// CRC-32C (Castagnoli), SHA-256 and SHA-512, with the fastest instructions that the processor has.
#ifndef CRESUMECHECKSUM_H
#define CRESUMECHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// Continues a checksum with more bytes; 0 begins one.
uint32_t resume_crc32c(uint32_t checksum, const void *bytes, size_t count);

/// How the checksum can be computed. All give the same result.
enum resume_crc32c_way {
    /// A table; everywhere.
    resume_crc32c_table,
    /// The processor's instruction for it (SSE 4.2, ARMv8).
    resume_crc32c_instruction,
    /// Carry-less multiplication of 64 bytes at a time (PCLMULQDQ).
    resume_crc32c_folding,
    /// Carry-less multiplication of 256 bytes at a time (AVX-512, VPCLMULQDQ).
    resume_crc32c_wide_folding,
};

/// The fastest way that this processor has.
enum resume_crc32c_way resume_crc32c_best(void);

/// Does what `resume_crc32c` does in a way of the caller's choice, up to `resume_crc32c_best`: for tests.
uint32_t resume_crc32c_by(enum resume_crc32c_way way, uint32_t checksum, const void *bytes, size_t count);

/// A SHA-256 or SHA-512 that is being computed. A copy continues independently.
struct resume_sha2 {
    union {
        uint32_t words_32[8];
        uint64_t words_64[8];
    } state;
    /// Bytes hashed so far, those in `block` included.
    uint64_t count;
    /// Bytes of a block: 64 (SHA-256) or 128 (SHA-512).
    uint8_t block_size;
    /// Whether the processor's own instructions compute it. Tests clear this to check the portable code.
    uint8_t by_instruction;
    /// The bytes of a block that is not full.
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
