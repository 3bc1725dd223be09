// CRC-32C (Castagnoli) and SHA-256, with the fastest instructions of the processor, and SHA-512, SHA-1 and MD5.
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

/// The algorithms. MD5 and SHA-1 detect damage, but not forgery.
enum resume_hash_kind { resume_md5, resume_sha1, resume_sha256, resume_sha512 };

/// The state of a computation. A copy continues independently.
struct resume_hash {
    union {
        uint32_t words_32[8];
        uint64_t words_64[8];
    } state;
    /// The number of bytes hashed so far, including those in `block`.
    uint64_t count;
    enum resume_hash_kind kind;
    /// Whether the processor's SHA instructions are used. Tests clear this to check the portable code.
    uint8_t by_instruction;
    /// The bytes of an incomplete block.
    uint8_t block[128];
};

/// Begins a hash.
struct resume_hash resume_hash_begin(enum resume_hash_kind kind);

/// Adds bytes to a hash.
void resume_hash_update(struct resume_hash *hash, const void *bytes, size_t count);

/// Adds the first bytes of the digest of another hash.
void resume_hash_update_digest(struct resume_hash *hash, struct resume_hash other, size_t count);

/// Writes the digest of all bytes so far; what follows a short one is undefined.
void resume_hash_final(struct resume_hash hash, uint8_t digest[64]);

#endif
