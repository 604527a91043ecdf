// The part of the Metal standard library that TVM's codegen writes, as C++ for the CPU, and, where
// clang reads it as OpenCL C++ (msl_check.py), with the address spaces that Metal has.
// Names that MSL lacks (atan2f, log1p, ...) stay unknown here, so that they are refused.
#pragma once
#define EMULATOR_METAL 1

#ifdef __OPENCL_CPP_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned long size_t;
#define device __global
#define threadgroup __local
#define thread __private
#define constant __constant
#else
#include "launch.h"
#define device
#define threadgroup
#define thread
#define constant const
#ifdef __FLT16_MAX__  // g++ 12
typedef _Float16 half;
constexpr half operator""h(long double value) { return static_cast<half>(value); }
#endif
#endif
#if defined(__OPENCL_CPP_VERSION__) || defined(__FLT16_MAX__)
#define EMULATOR_IF_HALF(...) __VA_ARGS__
#else
#define EMULATOR_IF_HALF(...)
#endif
#include "meetings.h"
#include "vectors.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define M_PI_F 3.14159265358979323846f

EMULATOR_VECTORS(float, float)
EMULATOR_IF_HALF(EMULATOR_VECTORS(half, half))
EMULATOR_VECTORS(bool, bool)
EMULATOR_VECTORS(char, char)
EMULATOR_VECTORS(uchar, uchar)
EMULATOR_VECTORS(short, short)
EMULATOR_VECTORS(ushort, ushort)
EMULATOR_VECTORS(int, int)
#ifdef __OPENCL_CPP_VERSION__
// A kernel's position is a parameter, which there has to be a built-in type.
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint3 __attribute__((ext_vector_type(3)));
typedef emulator::Vector<uint, 4> uint4;
#else
EMULATOR_VECTORS(uint, uint)
#endif
EMULATOR_VECTORS(long, long)
EMULATOR_VECTORS(ulong, ulong)

namespace metal {
using emulator::Vector;

enum class mem_flags { mem_none, mem_device, mem_threadgroup, mem_texture };

#define EMULATOR_UNARY(name, builtin)                                        \
  inline float name(float x) { return builtin(x); }                          \
  EMULATOR_IF_HALF(inline half name(half x) { return half(builtin(float(x))); })               \
  template <class T, int N>                                                  \
  inline Vector<T, N> name(Vector<T, N> x) {                                 \
    Vector<T, N> r;                                                          \
    for (int i = 0; i < N; ++i) r[i] = name(x[i]);                           \
    return r;                                                                \
  }
#define EMULATOR_BINARY(name, builtin)                                                \
  inline float name(float x, float y) { return builtin(x, y); }                       \
  EMULATOR_IF_HALF(inline half name(half x, half y) { return half(builtin(float(x), float(y))); })      \
  template <class T, int N>                                                           \
  inline Vector<T, N> name(Vector<T, N> x, Vector<T, N> y) {                          \
    Vector<T, N> r;                                                                   \
    for (int i = 0; i < N; ++i) r[i] = name(x[i], y[i]);                              \
    return r;                                                                         \
  }
inline float reciprocal_root(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float fraction(float x) {
  float f = x - __builtin_floorf(x);
  return f < 1.0f ? f : 0x1.fffffep-1f;
}
inline float power_of_ten(float x) { return __builtin_exp10f(x); }
inline float signum(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f; }
#define EMULATOR_FUNCTIONS           \
  EMULATOR_UNARY(exp, __builtin_expf)         \
  EMULATOR_UNARY(exp2, __builtin_exp2f)       \
  EMULATOR_UNARY(exp10, power_of_ten)         \
  EMULATOR_UNARY(log, __builtin_logf)         \
  EMULATOR_UNARY(log2, __builtin_log2f)       \
  EMULATOR_UNARY(log10, __builtin_log10f)     \
  EMULATOR_UNARY(sin, __builtin_sinf)         \
  EMULATOR_UNARY(cos, __builtin_cosf)         \
  EMULATOR_UNARY(tan, __builtin_tanf)         \
  EMULATOR_UNARY(asin, __builtin_asinf)       \
  EMULATOR_UNARY(acos, __builtin_acosf)       \
  EMULATOR_UNARY(atan, __builtin_atanf)       \
  EMULATOR_UNARY(sinh, __builtin_sinhf)       \
  EMULATOR_UNARY(cosh, __builtin_coshf)       \
  EMULATOR_UNARY(tanh, __builtin_tanhf)       \
  EMULATOR_UNARY(asinh, __builtin_asinhf)     \
  EMULATOR_UNARY(acosh, __builtin_acoshf)     \
  EMULATOR_UNARY(atanh, __builtin_atanhf)     \
  EMULATOR_UNARY(sqrt, __builtin_sqrtf)       \
  EMULATOR_UNARY(rsqrt, reciprocal_root)      \
  EMULATOR_UNARY(fabs, __builtin_fabsf)       \
  EMULATOR_UNARY(floor, __builtin_floorf)     \
  EMULATOR_UNARY(ceil, __builtin_ceilf)       \
  EMULATOR_UNARY(round, __builtin_roundf)     \
  EMULATOR_UNARY(rint, __builtin_rintf)       \
  EMULATOR_UNARY(trunc, __builtin_truncf)     \
  EMULATOR_UNARY(fract, fraction)             \
  EMULATOR_UNARY(sign, signum)                \
  EMULATOR_BINARY(atan2, __builtin_atan2f)    \
  EMULATOR_BINARY(pow, __builtin_powf)        \
  EMULATOR_BINARY(powr, __builtin_powf)       \
  EMULATOR_BINARY(fmod, __builtin_fmodf)      \
  EMULATOR_BINARY(fmin, __builtin_fminf)      \
  EMULATOR_BINARY(fmax, __builtin_fmaxf)      \
  EMULATOR_BINARY(copysign, __builtin_copysignf)
EMULATOR_FUNCTIONS
// The same functions: the CPU has one accuracy.
namespace precise {
EMULATOR_FUNCTIONS
}
namespace fast {
EMULATOR_FUNCTIONS
}

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMULATOR_IF_HALF(inline half fma(half a, half b, half c) { return half(__builtin_fmaf(a, b, c)); })
template <class T, int N>
inline Vector<T, N> fma(Vector<T, N> a, Vector<T, N> b, Vector<T, N> c) {
  Vector<T, N> r;
  for (int i = 0; i < N; ++i) r[i] = fma(a[i], b[i], c[i]);
  return r;
}

#define EMULATOR_ORDER(T)                                  \
  inline T max(T a, T b) { return a < b ? b : a; }         \
  inline T min(T a, T b) { return b < a ? b : a; }         \
  inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
EMULATOR_ORDER(char)
EMULATOR_ORDER(uchar)
EMULATOR_ORDER(short)
EMULATOR_ORDER(ushort)
EMULATOR_ORDER(int)
EMULATOR_ORDER(uint)
EMULATOR_ORDER(long)
EMULATOR_ORDER(ulong)
#undef EMULATOR_ORDER
EMULATOR_BINARY(max, __builtin_fmaxf)
EMULATOR_BINARY(min, __builtin_fminf)
inline float clamp(float x, float low, float high) { return min(max(x, low), high); }
EMULATOR_IF_HALF(inline half clamp(half x, half low, half high) { return min(max(x, low), high); })

inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
EMULATOR_IF_HALF(inline half abs(half x) { return half(__builtin_fabsf(x)); })
inline bool isnan(float x) { return x != x; }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline int clz(int x) { return x ? __builtin_clz(x) : 32; }
inline uint clz(uint x) { return x ? __builtin_clz(x) : 32; }
inline int popcount(int x) { return __builtin_popcount(x); }
inline uint popcount(uint x) { return __builtin_popcount(x); }

template <class T>
inline T select(T a, T b, bool c) {
  return c ? b : a;
}
template <class T, int N>
inline Vector<T, N> select(Vector<T, N> a, Vector<T, N> b, Vector<bool, N> c) {
  Vector<T, N> r;
  for (int i = 0; i < N; ++i) r[i] = c[i] ? b[i] : a[i];
  return r;
}

template <class To, class From>
inline To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  To result;
  __builtin_memcpy(&result, &value, sizeof(To));
  return result;
}

inline void barrier(mem_flags, int line) { emulator::emulator_barrier(line); }
inline void warp_barrier(mem_flags, int line) { emulator::emulator_exchange(0, ~0u, line, true); }
#define threadgroup_barrier(flags) metal::barrier(flags, __LINE__)
#define simdgroup_barrier(flags) metal::warp_barrier(flags, __LINE__)
#define simd_shuffle(v, s) \
  emulator::shuffle(emulator::Shuffle::index, 0u, v, s, 32, __LINE__)
#define simd_shuffle_up(v, s) \
  emulator::shuffle(emulator::Shuffle::up, 0u, v, s, 32, __LINE__)
#define simd_shuffle_down(v, s) \
  emulator::shuffle(emulator::Shuffle::down, 0u, v, s, 32, __LINE__)
#define simd_shuffle_xor(v, s) \
  emulator::shuffle(emulator::Shuffle::exclusive_or, 0u, v, s, 32, __LINE__)
}  // namespace metal

#ifndef __OPENCL_CPP_VERSION__
// A thread's position, in the number of dimensions that the kernel's signature asks for.
struct emulator_position {
  emulator::Index3 index;
  operator uint() const { return index.x; }
  operator uint2() const { return uint2(index.x, index.y); }
  operator uint3() const { return uint3(index.x, index.y, index.z); }
};
#else
#define double metal_has_no_double
#endif
