// Warp matrix products and the conversions to their operands, lane by lane as the PTX ISA lays the
// fragments out (9.7.14, "Matrix Fragments for mma.m16n8k8" and "… mma.m16n8k16").
#pragma once
#include "meetings.h"

namespace emulator {

// An element as one 32-bit register holds it: tf32 alone, half precision in pairs.
struct Tf32 {
  static constexpr int kPerWord = 1;
  // The hardware reads sign, 8 bits of exponent and 10 of mantissa, whatever follows.
  EMULATOR_OWN static float get(uint32_t word, int) { return from_bits<float>(word & 0xffffe000u); }
};
struct Bf16 {
  static constexpr int kPerWord = 2;
  EMULATOR_OWN static float get(uint32_t word, int i) {
    return from_bits<float>((word >> (16 * i)) << 16);
  }
};
#ifdef __FLT16_MANT_DIG__
struct F16 {
  static constexpr int kPerWord = 2;
  EMULATOR_OWN static float get(uint32_t word, int i) {
    return from_bits<_Float16>((word >> (16 * i)) & 0xffffu);
  }
};
#endif

EMULATOR_OWN inline const uint64_t* whole_warp(uint64_t value, int line) {
  Exchange all = emulator_exchange(value, ~0u, line, false);
  for (int lane = 0; lane < 32; ++lane)
    if (!(all.lanes >> lane & 1)) emulator_absent_lane(lane, line);
  return all.values;
}

// D[16, 8] = A[16, k] B[k, 8] + C, a row of A being `Words` registers of k / Words elements.
// Products are exact, sums float32 in the order of k; the device's order and rounding are its own.
template <class Element, int Words>
EMULATOR_OWN inline void mma_m16n8(float (&d)[4], const uint32_t (&a)[Words / 2],
                                   const uint32_t (&b)[Words / 4], const float (&c)[4], int line) {
  constexpr int kLeft = Words / 2, kRight = Words / 4;
  uint32_t left[kLeft][32], right[kRight][32];
  for (int i = 0; i < kLeft; i += 2) {
    const uint64_t* values = whole_warp(uint64_t(a[i + 1]) << 32 | a[i], line);
    for (int lane = 0; lane < 32; ++lane) {
      left[i][lane] = uint32_t(values[lane]);
      left[i + 1][lane] = uint32_t(values[lane] >> 32);
    }
  }
  const uint64_t* values = whole_warp(uint64_t(b[kRight - 1]) << 32 | b[0], line);
  for (int lane = 0; lane < 32; ++lane) {
    right[0][lane] = uint32_t(values[lane]);
    right[kRight - 1][lane] = uint32_t(values[lane] >> (kRight == 2 ? 32 : 0));
  }
  const int group = int(emulator_lane()) >> 2, pair = int(emulator_lane()) & 3;
  for (int i = 0; i < 4; ++i) {
    const int column = 2 * pair + (i & 1);
    float sum = c[i];
    for (int word = 0; word < Words; ++word) {
      const uint32_t x = left[(word >> 2) * 2 + (i >> 1)][4 * group + (word & 3)];
      const uint32_t y = right[word >> 2][4 * column + (word & 3)];
      for (int e = 0; e < Element::kPerWord; ++e)
        sum += Element::get(x, e) * Element::get(y, e);
    }
    d[i] = sum;
  }
}

// Nearest, ties away from zero.
EMULATOR_OWN inline uint32_t round_tf32(float x) {
  uint32_t bits = uint32_t(to_bits(x));
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}
EMULATOR_OWN inline uint32_t round_bf16(float x) {
  uint32_t bits = uint32_t(to_bits(x));
  if (x != x) return 0x7fffu;
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
#ifdef __FLT16_MANT_DIG__
EMULATOR_OWN inline uint32_t round_f16(float x) {
  return uint32_t(to_bits(static_cast<_Float16>(x)));
}
#endif

}  // namespace emulator

#define EMULATOR_MMA(element, words, d, a, b, c) \
  emulator::mma_m16n8<emulator::element, words>(d, a, b, c, __LINE__)
