// bfloat16: the upper half of a float, rounded to nearest even after every operation.
#pragma once
#include "cuda_builtins.h"

struct nv_bfloat16 {
  unsigned short bits;
  nv_bfloat16() = default;
  nv_bfloat16(float x) {
    unsigned u = __float_as_uint(x);
    bits = x != x ? 0x7fff : static_cast<unsigned short>((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  nv_bfloat16(double x) : nv_bfloat16(static_cast<float>(x)) {}
  nv_bfloat16(int x) : nv_bfloat16(static_cast<float>(x)) {}
  operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};
typedef nv_bfloat16 __nv_bfloat16;
typedef emulator::Vector<nv_bfloat16, 2> nv_bfloat162;
typedef nv_bfloat162 __nv_bfloat162;

#define EMULATOR_BFLOAT(op)                                       \
  inline nv_bfloat16 operator op(nv_bfloat16 a, nv_bfloat16 b) {  \
    return nv_bfloat16(float(a) op float(b));                     \
  }
EMULATOR_BFLOAT(+)
EMULATOR_BFLOAT(-)
EMULATOR_BFLOAT(*)
EMULATOR_BFLOAT(/)
#undef EMULATOR_BFLOAT
inline nv_bfloat16 __float2bfloat16(float x) { return nv_bfloat16(x); }
inline nv_bfloat16 __float2bfloat16_rn(float x) { return nv_bfloat16(x); }
inline float __bfloat162float(nv_bfloat16 x) { return x; }
inline bool __hgt(nv_bfloat16 a, nv_bfloat16 b) { return float(a) > float(b); }
inline bool __hlt(nv_bfloat16 a, nv_bfloat16 b) { return float(a) < float(b); }
inline nv_bfloat16 __habs(nv_bfloat16 a) { return nv_bfloat16(__builtin_fabsf(a)); }
#define EMULATOR_BFLOAT(name, builtin) \
  inline nv_bfloat16 name(nv_bfloat16 x) { return nv_bfloat16(builtin(float(x))); }
EMULATOR_BFLOAT(hexp, __builtin_expf)
EMULATOR_BFLOAT(hexp2, __builtin_exp2f)
EMULATOR_BFLOAT(hlog, __builtin_logf)
EMULATOR_BFLOAT(hlog2, __builtin_log2f)
EMULATOR_BFLOAT(hsin, __builtin_sinf)
EMULATOR_BFLOAT(hcos, __builtin_cosf)
EMULATOR_BFLOAT(htanh, __builtin_tanhf)
EMULATOR_BFLOAT(hsqrt, __builtin_sqrtf)
EMULATOR_BFLOAT(hrsqrt, 1.0f / __builtin_sqrtf)
EMULATOR_BFLOAT(hfloor, __builtin_floorf)
EMULATOR_BFLOAT(hceil, __builtin_ceilf)
EMULATOR_BFLOAT(hrint, __builtin_rintf)
EMULATOR_BFLOAT(htrunc, __builtin_truncf)
#undef EMULATOR_BFLOAT
