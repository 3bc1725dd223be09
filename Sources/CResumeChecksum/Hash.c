// SHA-1, SHA-256 and SHA-512: FIPS 180-4. MD5: RFC 1321.
#include "CResumeChecksum.h"

#include <math.h>
#include <string.h>

static const uint64_t constants_512[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

// The first halves of these (section 4.2.2), and those of MD5, set before the first hash begins.
static uint32_t constants_256[64], constants_md5[64];

// All processors that Swift supports are little-endian.
static uint32_t big_endian_32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap32(value);
}

static uint64_t big_endian_64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap64(value);
}

// Section 4.1.2, for the word sizes of both algorithms. The names are those of the standard.
#define ROTATE(value, count) ((value) >> (count) | (value) << (8 * sizeof(value) - (count)))
#define CHOOSE(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

// BMI2 rotates without a copy. Many servers have it and no instructions for SHA-256.
#if defined(__x86_64__) && defined(__GLIBC__)
#define CLONED __attribute__((target_clones("bmi2", "default")))
#else
#define CLONED
#endif

// Section 6.2.2 (SHA-256) and 6.4.2 (SHA-512): they differ in word size, number of rounds and rotations.
#define COMPRESS(name, word, rounds, load, constants, big_a, big_b, big_c, big_d, big_e, big_f, small_a, small_b,    \
                 small_c, small_d, small_e, small_f)                                                                 \
    CLONED static void name(word state[8], const uint8_t *bytes, size_t blocks) {                                    \
        for (; blocks > 0; blocks--, bytes += 16 * sizeof(word)) {                                                   \
            word w[16], s[8];                                                                                        \
            memcpy(s, state, sizeof s);                                                                              \
            _Pragma("clang loop unroll_count(16)") for (int t = 0; t < rounds; t++) {                                \
                if (t < 16) {                                                                                        \
                    w[t] = load(bytes + t * sizeof(word));                                                           \
                } else {                                                                                             \
                    word x = w[(t + 14) & 15], y = w[(t + 1) & 15];                                                  \
                    w[t & 15] += (ROTATE(x, small_d) ^ ROTATE(x, small_e) ^ x >> small_f) + w[(t + 9) & 15]          \
                        + (ROTATE(y, small_a) ^ ROTATE(y, small_b) ^ y >> small_c);                                  \
                }                                                                                                    \
                word t1 = s[7] + (ROTATE(s[4], big_d) ^ ROTATE(s[4], big_e) ^ ROTATE(s[4], big_f))                   \
                    + CHOOSE(s[4], s[5], s[6]) + constants[t] + w[t & 15];                                           \
                word t2 = (ROTATE(s[0], big_a) ^ ROTATE(s[0], big_b) ^ ROTATE(s[0], big_c))                          \
                    + MAJORITY(s[0], s[1], s[2]);                                                                    \
                s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + t1;                                             \
                s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = t1 + t2;                                               \
            }                                                                                                        \
            for (int i = 0; i < 8; i++) state[i] += s[i];                                                            \
        }                                                                                                            \
    }

COMPRESS(compress_256, uint32_t, 64, big_endian_32, constants_256, 2, 13, 22, 6, 11, 25, 7, 18, 3, 17, 19, 10)
COMPRESS(compress_512, uint64_t, 80, big_endian_64, constants_512, 28, 34, 39, 14, 18, 41, 1, 8, 7, 19, 61, 6)

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

// The instructions use the state as two vectors, {a, b, e, f} and {c, d, g, h}. ("Intel SHA Extensions", 2013.)
__attribute__((target("sha,sse4.1"))) static void compress_256_by_instruction(
    uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    const __m128i reversal = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks > 0; blocks--, bytes += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), reversal);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            __m128i sum = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(constants_256 + 4 * i)));
            __m128i shifted = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
            __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), shifted);
            w[i & 3] = _mm_sha256msg2_epu32(next, w[(i + 3) & 3]);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static int has_instruction(void) {
    // `__builtin_cpu_supports` does not support "sha" before clang 18.
    unsigned int eax, ebx, ecx, edx;
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 29 & 1);
}

#elif defined(__aarch64__) && (defined(__ARM_FEATURE_SHA2) || defined(__linux__))
#include <arm_neon.h>
#if !defined(__ARM_FEATURE_SHA2)
#include <sys/auxv.h>
#endif

__attribute__((target("sha2"))) static void compress_256_by_instruction(
    uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; blocks > 0; blocks--, bytes += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 4; i++) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            const uint32x4_t sum = vaddq_u32(w[i & 3], vld1q_u32(constants_256 + 4 * i)), abcd_now = abcd;
            w[i & 3] = vsha256su1q_u32(vsha256su0q_u32(w[i & 3], w[(i + 1) & 3]), w[(i + 2) & 3], w[(i + 3) & 3]);
            abcd = vsha256hq_u32(abcd, efgh, sum);
            efgh = vsha256h2q_u32(efgh, abcd_now, sum);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

static int has_instruction(void) {
#if defined(__ARM_FEATURE_SHA2)
    return 1;
#else
    return (getauxval(AT_HWCAP) & (1 << 6) /* HWCAP_SHA2 */) != 0;
#endif
}

#else
#define compress_256_by_instruction compress_256
static int has_instruction(void) { return 0; }
#endif

#define ROTATE_LEFT(value, count) ROTATE(value, 32 - (count))

// Section 6.1.2.
static void compress_sha1(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t w[80], s[5];
        memcpy(s, state, sizeof s);
        for (int t = 0; t < 16; t++) w[t] = big_endian_32(bytes + 4 * t);
        for (int t = 16; t < 80; t++) w[t] = ROTATE_LEFT(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
#pragma clang loop unroll(full)
        for (int t = 0; t < 80; t++) {
            const uint32_t parity = s[1] ^ s[2] ^ s[3];
            const uint32_t mixed[4] = {CHOOSE(s[1], s[2], s[3]), parity, MAJORITY(s[1], s[2], s[3]), parity};
            const uint32_t sum = ROTATE_LEFT(s[0], 5) + mixed[t / 20] + s[4] + constants[t / 20] + w[t];
            s[4] = s[3];
            s[3] = s[2];
            s[2] = ROTATE_LEFT(s[1], 30);
            s[1] = s[0];
            s[0] = sum;
        }
        for (int i = 0; i < 5; i++) state[i] += s[i];
    }
}

// RFC 1321, section 3.4.
static void compress_md5(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    static const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    for (; blocks > 0; blocks--, bytes += 64) {
        uint32_t w[16], s[4];
        memcpy(w, bytes, sizeof w);
        memcpy(s, state, sizeof s);
#pragma clang loop unroll(full)
        for (int t = 0; t < 64; t++) {
            const uint32_t b = s[1], c = s[2], d = s[3];
            const uint32_t mixed[4] = {CHOOSE(b, c, d), CHOOSE(d, b, c), b ^ c ^ d, c ^ (b | ~d)};
            const int index[4] = {t, 5 * t + 1, 3 * t + 5, 7 * t};
            const uint32_t sum = s[0] + mixed[t / 16] + constants_md5[t] + w[index[t / 16] & 15];
            s[0] = d;
            s[3] = c;
            s[2] = b;
            s[1] = b + ROTATE_LEFT(sum, turns[t / 16][t & 3]);
        }
        for (int i = 0; i < 4; i++) state[i] += s[i];
    }
}

static void compress(struct resume_hash *hash, const uint8_t *bytes, size_t blocks) {
    switch (hash->kind) {
    case resume_md5: return compress_md5(hash->state.words_32, bytes, blocks);
    case resume_sha1: return compress_sha1(hash->state.words_32, bytes, blocks);
    case resume_sha256:
        if (hash->by_instruction) return compress_256_by_instruction(hash->state.words_32, bytes, blocks);
        return compress_256(hash->state.words_32, bytes, blocks);
    case resume_sha512: return compress_512(hash->state.words_64, bytes, blocks);
    }
}

// Computes the constants, and returns whether there are instructions for SHA-256.
//
// In a virtual machine, asking the processor takes 20 microseconds, longer than hashing a short text.
static int prepare(void) {
    static int answer = -1;
    int known = __atomic_load_n(&answer, __ATOMIC_ACQUIRE);
    if (known < 0) {
        // Threads that do this concurrently write the same numbers.
        for (int i = 0; i < 64; i++) {
            __atomic_store_n(&constants_256[i], (uint32_t)(constants_512[i] >> 32), __ATOMIC_RELAXED);
            __atomic_store_n(&constants_md5[i], (uint32_t)(fabs(sin(i + 1)) * 0x1p32), __ATOMIC_RELAXED);
        }
        known = has_instruction();
        __atomic_store_n(&answer, known, __ATOMIC_RELEASE);
    }
    return known;
}

struct resume_hash resume_hash_begin(enum resume_hash_kind kind) {
    // Section 3.3 of RFC 1321; sections 5.3.1, 5.3.3 and 5.3.5.
    static const uint32_t words_32[3][8] = {
        {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476},
        {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
        {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
    };
    static const uint64_t words_64[8] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    };
    struct resume_hash hash;
    hash.kind = kind;
    hash.count = 0;
    hash.by_instruction = prepare() && kind == resume_sha256;
    if (kind == resume_sha512) {
        memcpy(hash.state.words_64, words_64, sizeof words_64);
    } else {
        memcpy(hash.state.words_32, words_32[kind], sizeof words_32[kind]);
    }
    return hash;
}

static size_t block_size(const struct resume_hash *hash) { return hash->kind == resume_sha512 ? 128 : 64; }

void resume_hash_update(struct resume_hash *hash, const void *bytes, size_t count) {
    const uint8_t *input = bytes;
    const size_t size = block_size(hash), pending = hash->count % size;
    hash->count += count;
    if (pending > 0) {
        const size_t taken = count < size - pending ? count : size - pending;
        if (taken > 0) memcpy(hash->block + pending, input, taken);
        if (pending + taken < size) return;
        compress(hash, hash->block, 1);
        input += taken, count -= taken;
    }
    if (count >= size) compress(hash, input, count / size);
    if (count % size > 0) memcpy(hash->block, input + count - count % size, count % size);
}

void resume_hash_final(struct resume_hash hash, uint8_t digest[64]) {
    // Section 5.1: a one bit, zeros, and the number of bits in the last 8 or 16 bytes of a block.
    const size_t size = block_size(&hash), pending = hash.count % size;
    memset(hash.block + pending, 0, size - pending);
    hash.block[pending] = 0x80;
    if (pending + 1 + size / 8 > size) {
        compress(&hash, hash.block, 1);
        memset(hash.block, 0, size);
    }
    const int is_md5 = hash.kind == resume_md5;
    const uint64_t bits = is_md5 ? hash.count << 3 : __builtin_bswap64(hash.count << 3);
    memcpy(hash.block + size - 8, &bits, 8);
    if (size == 128) hash.block[size - 9] = (uint8_t)(hash.count >> 61);
    compress(&hash, hash.block, 1);
    for (int i = 0; i < 8; i++) {
        if (size == 128) {
            const uint64_t word = __builtin_bswap64(hash.state.words_64[i]);
            memcpy(digest + 8 * i, &word, 8);
        } else {
            const uint32_t word = hash.state.words_32[i], swapped = is_md5 ? word : __builtin_bswap32(word);
            memcpy(digest + 4 * i, &swapped, 4);
        }
    }
}

void resume_hash_update_digest(struct resume_hash *hash, struct resume_hash other, size_t count) {
    uint8_t digest[64];
    resume_hash_final(other, digest);
    resume_hash_update(hash, digest, count);
}
