// CRC-32C (Castagnoli), by the fastest means that the processor has.
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

#endif
