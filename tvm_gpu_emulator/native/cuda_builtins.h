// The part of CUDA C++ that TVM's codegen writes, as C++ for the CPU.
#pragma once
#include "launch.h"
#include "tensor_cores.h"
#include "vectors.h"

#include <cstdint>

#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __device__
#define __host__
#define __forceinline__ inline
#define __align__(n) alignas(n)
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define __restrict__ __restrict
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

EMULATOR_VECTORS(float, float)
EMULATOR_VECTORS(double, double)
EMULATOR_VECTORS(signed char, char)
EMULATOR_VECTORS(unsigned char, uchar)
EMULATOR_VECTORS(short, short)
EMULATOR_VECTORS(unsigned short, ushort)
EMULATOR_VECTORS(int, int)
EMULATOR_VECTORS(unsigned int, uint)
EMULATOR_VECTORS(long, longlong)
EMULATOR_VECTORS(unsigned long, ulonglong)
EMULATOR_VECTORS(long, long)
EMULATOR_VECTORS(unsigned long, ulong)

#define EMULATOR_MAKE(T, name)                                                          \
  inline name##2 make_##name##2(T a, T b) { return name##2(a, b); }                     \
  inline name##3 make_##name##3(T a, T b, T c) { return name##3(a, b, c); }             \
  inline name##4 make_##name##4(T a, T b, T c, T d) { return name##4(a, b, c, d); }
EMULATOR_MAKE(float, float)
EMULATOR_MAKE(double, double)
EMULATOR_MAKE(signed char, char)
EMULATOR_MAKE(unsigned char, uchar)
EMULATOR_MAKE(short, short)
EMULATOR_MAKE(unsigned short, ushort)
EMULATOR_MAKE(int, int)
EMULATOR_MAKE(unsigned int, uint)
EMULATOR_MAKE(long, longlong)
EMULATOR_MAKE(unsigned long, ulonglong)
#undef EMULATOR_MAKE

#define EMULATOR_UNARY(name)                                    \
  inline float name##f(float x) { return __builtin_##name##f(x); } \
  inline double name(double x) { return __builtin_##name(x); }     \
  inline float name(float x) { return __builtin_##name##f(x); }
#define EMULATOR_BINARY(name)                                                          \
  inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }         \
  inline double name(double x, double y) { return __builtin_##name(x, y); }            \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); }
namespace cuda_emulation {
EMULATOR_UNARY(exp)
EMULATOR_UNARY(exp2)
EMULATOR_UNARY(exp10)
EMULATOR_UNARY(expm1)
EMULATOR_UNARY(log)
EMULATOR_UNARY(log2)
EMULATOR_UNARY(log10)
EMULATOR_UNARY(log1p)
EMULATOR_UNARY(sin)
EMULATOR_UNARY(cos)
EMULATOR_UNARY(tan)
EMULATOR_UNARY(asin)
EMULATOR_UNARY(acos)
EMULATOR_UNARY(atan)
EMULATOR_UNARY(sinh)
EMULATOR_UNARY(cosh)
EMULATOR_UNARY(tanh)
EMULATOR_UNARY(asinh)
EMULATOR_UNARY(acosh)
EMULATOR_UNARY(atanh)
EMULATOR_UNARY(sqrt)
EMULATOR_UNARY(cbrt)
EMULATOR_UNARY(erf)
EMULATOR_UNARY(erfc)
EMULATOR_UNARY(lgamma)
EMULATOR_UNARY(fabs)
EMULATOR_UNARY(floor)
EMULATOR_UNARY(ceil)
EMULATOR_UNARY(round)
EMULATOR_UNARY(rint)
EMULATOR_UNARY(nearbyint)
EMULATOR_UNARY(trunc)
EMULATOR_BINARY(atan2)
EMULATOR_BINARY(pow)
EMULATOR_BINARY(fmod)
EMULATOR_BINARY(fmin)
EMULATOR_BINARY(fmax)
EMULATOR_BINARY(hypot)
EMULATOR_BINARY(copysign)
inline float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }

// The approximate intrinsics, at the CPU's accuracy.
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return __builtin_exp10f(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frsqrt_rn(float x) { return 1.0f / __builtin_sqrtf(x); }
// Rounded by themselves: never contracted into a fused multiply-add.
__attribute__((noinline)) inline float __fmul_rn(float x, float y) { return x * y; }
__attribute__((noinline)) inline float __fadd_rn(float x, float y) { return x + y; }
__attribute__((noinline)) inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
#define EMULATOR_ORDER(T)                          \
  inline T max(T a, T b) { return a < b ? b : a; } \
  inline T min(T a, T b) { return b < a ? b : a; }
EMULATOR_ORDER(int)
EMULATOR_ORDER(unsigned int)
EMULATOR_ORDER(long)
EMULATOR_ORDER(unsigned long)
#undef EMULATOR_ORDER
inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long llabs(long x) { return x < 0 ? -x : x; }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long x) { return x ? __builtin_clzl(x) : 64; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long x) { return __builtin_popcountl(x); }
inline int __float_as_int(float x) { return emulator::from_bits<int>(emulator::to_bits(x)); }
inline float __int_as_float(int x) { return emulator::from_bits<float>(emulator::to_bits(x)); }
inline unsigned __float_as_uint(float x) {
  return emulator::from_bits<unsigned>(emulator::to_bits(x));
}
inline float __uint_as_float(unsigned x) {
  return emulator::from_bits<float>(emulator::to_bits(x));
}
template <class T>
inline T __ldg(const T* address) {
  return *address;
}
}  // namespace cuda_emulation
#undef EMULATOR_UNARY
#undef EMULATOR_BINARY
using namespace cuda_emulation;
using emulator::emulator_barrier;

#define __syncthreads() emulator_barrier(__LINE__)
#define __cvta_generic_to_shared(place) emulator::emulator_shared_address(place)
#define EMULATOR_WARP_MASK(first, ...) (first)
#define __syncwarp(...) \
  ((void)emulator::emulator_exchange(0, ~0u, __LINE__, true))
#define __activemask() (emulator::emulator_exchange(0, 0u, __LINE__, false).lanes)

// The width may be left out.
struct emulator_width {
  int lanes;
  emulator_width(int n = 32) : lanes(n) {}
};
#define EMULATOR_SHUFFLE(mode, mask, v, operand, ...)                          \
  emulator::shuffle(emulator::Shuffle::mode, mask, v, static_cast<int>(operand), \
                    emulator_width{__VA_ARGS__}.lanes, __LINE__)
#define __shfl_sync(mask, v, ...) EMULATOR_SHUFFLE(index, mask, v, __VA_ARGS__)
#define __shfl_up_sync(mask, v, ...) EMULATOR_SHUFFLE(up, mask, v, __VA_ARGS__)
#define __shfl_down_sync(mask, v, ...) EMULATOR_SHUFFLE(down, mask, v, __VA_ARGS__)
#define __shfl_xor_sync(mask, v, ...) EMULATOR_SHUFFLE(exclusive_or, mask, v, __VA_ARGS__)
EMULATOR_OWN inline unsigned emulator_ballot(unsigned mask, bool vote, int line) {
  emulator::Exchange all = emulator::emulator_exchange(vote, mask, line, false);
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (all.lanes >> lane & mask >> lane & 1) result |= unsigned(all.values[lane] != 0) << lane;
  return result;
}
#define __ballot_sync(mask, vote) emulator_ballot(mask, vote, __LINE__)
#define __any_sync(mask, vote) (emulator_ballot(mask, vote, __LINE__) != 0)
#define __all_sync(mask, vote) (emulator_ballot(mask, !(vote), __LINE__) == 0)
