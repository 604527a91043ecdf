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

// sum + terms[0] + ... + terms[count - 1], cut as tensor cores cut it: all are aligned to the largest
// of them, and lose the bits below its last one, and the result those below its own. Rounding is
// toward zero throughout. Measured devices do so, and those after Volta keep one bit more or several
// (Fasi et al. 2021, "Numerical behavior of NVIDIA tensor cores"; Khattak and Mikaitis 2025,
// "Accurate models of NVIDIA tensor cores"), so that their error is not larger.
EMULATOR_OWN inline float add_cut(float sum, const double* terms, int count) {
  constexpr uint64_t kMagnitude = ~uint64_t(0) >> 1, kInfinity = uint64_t(2047) << 52;
  uint64_t largest = to_bits(double(sum)) & kMagnitude;  // ordered as the numbers are
  for (int i = 0; i < count; ++i) {
    const uint64_t size = to_bits(terms[i]) & kMagnitude;
    largest = size > largest ? size : largest;
  }
  if (largest == 0) return sum;
  if (largest >= kInfinity) {  // or NaN
    double plain = sum;
    for (int i = 0; i < count; ++i) plain += terms[i];
    return float(plain);
  }
  const uint64_t exponent = largest >> 52;  // of float32 numbers and their products: normal
  const double unit = from_bits<double>((exponent - 23) << 52);
  const double inverse = from_bits<double>((2046 - (exponent - 23)) << 52);
  int64_t total = int64_t(double(sum) * inverse);
  for (int i = 0; i < count; ++i) total += int64_t(terms[i] * inverse);
  const double exact = double(total) * unit;
  const float near = float(exact);
  if ((exact < 0 ? -exact : exact) < double(near < 0 ? -near : near) && near - near == 0)
    return from_bits<float>(to_bits(near) - 1);
  return near;
}

// D[16, 8] = A[16, k] B[k, 8] + C, a row of A being `Words` registers of k / Words elements.
// Products are exact. They are added to C in groups of four registers: of 4 tf32 or 8 of half
// precision as on Ampere; newer devices take more at once, and cut less often.
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
  constexpr int kTerms = 4 * Element::kPerWord;  // of a group of four registers
  for (int i = 0; i < 4; ++i) d[i] = c[i];
  for (int quad = 0; quad < Words / 4; ++quad) {
    double x[2][kTerms], y[2][kTerms], terms[kTerms];  // of two rows and two columns
    for (int side = 0; side < 2; ++side)
      for (int k = 0; k < kTerms; ++k) {
        const int word = k / Element::kPerWord, e = k % Element::kPerWord;
        x[side][k] = Element::get(left[quad * 2 + side][4 * group + word], e);
        y[side][k] = Element::get(right[quad][4 * (2 * pair + side) + word], e);
      }
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < kTerms; ++k) terms[k] = x[i >> 1][k] * y[i & 1][k];
      d[i] = add_cut(d[i], terms, kTerms);
    }
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
