#include "CResumeChecksum.h"

#include <string.h>

// The polynomial 0x1EDC6F41 with its bits reversed.
#define POLYNOMIAL 0x82F63B78u

static uint64_t word(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t by_table(uint32_t state, const uint8_t *bytes, size_t count) {
    static uint32_t table[256];
    // Threads that do this concurrently write the same numbers.
    if (__atomic_load_n(&table[255], __ATOMIC_ACQUIRE) == 0) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t value = byte;
            for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (POLYNOMIAL & (0u - (value & 1)));
            __atomic_store_n(&table[byte], value, __ATOMIC_RELEASE);
        }
    }
    for (; count > 0; count--, bytes++) {
        state = (state >> 8) ^ __atomic_load_n(&table[(state ^ *bytes) & 0xff], __ATOMIC_RELAXED);
    }
    return state;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_instruction(
    uint32_t state, const uint8_t *bytes, size_t count) {
    uint64_t wide = state;
    for (; count >= 8; count -= 8, bytes += 8) wide = _mm_crc32_u64(wide, word(bytes));
    uint32_t narrow = (uint32_t)wide;
    for (; count > 0; count--, bytes++) narrow = _mm_crc32_u8(narrow, *bytes);
    return narrow;
}

// Folding: bytes at a distance of n bytes contribute their product with x^(8n) modulo the polynomial, and that product
// can be added to the bytes ahead. ("Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel, 2009.) The
// constants are x^(8n+32) and x^(8n-32) with their bits reversed. The instruction computes the checksum of the rest.

__attribute__((target("sse4.2,pclmul,avx512f,avx512vl,vpclmulqdq"))) static uint32_t by_folding(
    uint32_t state, const uint8_t *bytes, size_t count) {
    if (count < 512) return by_instruction(state, bytes, count);
    const __m512i constants = _mm512_broadcast_i32x4(_mm_set_epi64x(0xb9e02b86, 0xdcb17aa4));
    __m512i parts[4];
    for (int i = 0; i < 4; i++) parts[i] = _mm512_loadu_si512(bytes + 64 * i);
    parts[0] = _mm512_xor_si512(parts[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
    for (bytes += 256, count -= 256; count >= 256; bytes += 256, count -= 256) {
        for (int i = 0; i < 4; i++) {
            __m512i low = _mm512_clmulepi64_epi128(parts[i], constants, 0x00);
            __m512i high = _mm512_clmulepi64_epi128(parts[i], constants, 0x11);
            // 0x96 is the exclusive or of three values.
            parts[i] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(bytes + 64 * i), 0x96);
        }
    }
    state = by_instruction(0, (const uint8_t *)parts, sizeof parts);
    return by_instruction(state, bytes, count);
}

enum resume_crc32c_way resume_crc32c_best(void) {
    if (!__builtin_cpu_supports("sse4.2")) return resume_crc32c_table;
    const int folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
    return folds ? resume_crc32c_folding : resume_crc32c_instruction;
}

uint32_t resume_crc32c_by(enum resume_crc32c_way way, uint32_t checksum, const void *bytes, size_t count) {
    switch (way) {
    case resume_crc32c_folding: return ~by_folding(~checksum, bytes, count);
    case resume_crc32c_instruction: return ~by_instruction(~checksum, bytes, count);
    default: return ~by_table(~checksum, bytes, count);
    }
}

#elif defined(__aarch64__) && (defined(__ARM_FEATURE_CRC32) || defined(__linux__))
#include <arm_acle.h>
#if !defined(__ARM_FEATURE_CRC32)
#include <sys/auxv.h>
#endif

__attribute__((target("crc"))) static uint32_t by_instruction(uint32_t state, const uint8_t *bytes, size_t count) {
    for (; count >= 8; count -= 8, bytes += 8) state = __crc32cd(state, word(bytes));
    for (; count > 0; count--, bytes++) state = __crc32cb(state, *bytes);
    return state;
}

enum resume_crc32c_way resume_crc32c_best(void) {
#if defined(__ARM_FEATURE_CRC32)
    return resume_crc32c_instruction;
#else
    return getauxval(AT_HWCAP) & (1 << 7) /* HWCAP_CRC32 */ ? resume_crc32c_instruction : resume_crc32c_table;
#endif
}

uint32_t resume_crc32c_by(enum resume_crc32c_way way, uint32_t checksum, const void *bytes, size_t count) {
    return way == resume_crc32c_table ? ~by_table(~checksum, bytes, count) : ~by_instruction(~checksum, bytes, count);
}

#else

enum resume_crc32c_way resume_crc32c_best(void) { return resume_crc32c_table; }

uint32_t resume_crc32c_by(enum resume_crc32c_way way, uint32_t checksum, const void *bytes, size_t count) {
    (void)way;
    return ~by_table(~checksum, bytes, count);
}

#endif

uint32_t resume_crc32c(uint32_t checksum, const void *bytes, size_t count) {
    return resume_crc32c_by(resume_crc32c_best(), checksum, bytes, count);
}
