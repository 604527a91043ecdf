// half as the compiler's own 16-bit float: one rounding per operation, as on the device.
#pragma once
#include "cuda_builtins.h"

#ifndef __FLT16_MAX__
#error "float16 needs g++ 12 or newer"
#endif
typedef _Float16 half;
typedef _Float16 __half;
typedef emulator::Vector<half, 2> half2;
typedef half2 __half2;

inline half __float2half(float x) { return half(x); }
inline half __float2half_rn(float x) { return half(x); }
inline float __half2float(half x) { return float(x); }
inline half __int2half_rn(int x) { return half(x); }
inline int __half2int_rz(half x) { return int(x); }
inline bool __hgt(half a, half b) { return a > b; }
inline bool __hge(half a, half b) { return a >= b; }
inline bool __hlt(half a, half b) { return a < b; }
inline bool __hle(half a, half b) { return a <= b; }
inline bool __heq(half a, half b) { return a == b; }
inline bool __hisnan(half a) { return a != a; }
inline half __habs(half a) { return half(__builtin_fabsf(a)); }
inline half __hmax(half a, half b) { return half(__builtin_fmaxf(a, b)); }
inline half __hmin(half a, half b) { return half(__builtin_fminf(a, b)); }
inline half __hfma(half a, half b, half c) { return half(__builtin_fmaf(a, b, c)); }
inline half2 make_half2(half a, half b) { return half2(a, b); }
inline half2 __halves2half2(half a, half b) { return half2(a, b); }
#define EMULATOR_HALF(name, builtin) \
  inline half name(half x) { return half(builtin(float(x))); }
EMULATOR_HALF(hexp, __builtin_expf)
EMULATOR_HALF(hexp2, __builtin_exp2f)
EMULATOR_HALF(hexp10, __builtin_exp10f)
EMULATOR_HALF(hlog, __builtin_logf)
EMULATOR_HALF(hlog2, __builtin_log2f)
EMULATOR_HALF(hlog10, __builtin_log10f)
EMULATOR_HALF(hsin, __builtin_sinf)
EMULATOR_HALF(hcos, __builtin_cosf)
EMULATOR_HALF(htanh, __builtin_tanhf)
EMULATOR_HALF(hsqrt, __builtin_sqrtf)
EMULATOR_HALF(hrsqrt, 1.0f / __builtin_sqrtf)
EMULATOR_HALF(hrcp, 1.0f /)
EMULATOR_HALF(hfloor, __builtin_floorf)
EMULATOR_HALF(hceil, __builtin_ceilf)
EMULATOR_HALF(hrint, __builtin_rintf)
EMULATOR_HALF(htrunc, __builtin_truncf)
#undef EMULATOR_HALF
