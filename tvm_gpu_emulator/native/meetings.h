// How threads of a kernel meet: barriers, warps, shuffles.
#pragma once
#ifndef __OPENCL_CPP_VERSION__
#include <stddef.h>
#include <stdint.h>
#endif

// What the emulator itself reads and writes is none of the checker's business.
#define EMULATOR_OWN __attribute__((no_sanitize_thread))

namespace emulator {

extern "C" {
void emulator_barrier(int line);
// Threads of a warp meet: posts `value`, gives every lane's value and which lanes came.
struct Exchange {
  const uint64_t* values;
  uint32_t lanes;
};
Exchange emulator_exchange(uint64_t value, uint32_t expected, int line, bool synchronizes_memory);
unsigned emulator_lane();
uint64_t emulator_absent_lane(int source, int line);
}  // extern "C"

template <class T>
inline uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "a shuffled value has at most 64 bits");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
inline T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

enum class Shuffle { index, up, down, exclusive_or };

template <class T>
EMULATOR_OWN inline T shuffle(Shuffle mode, uint32_t expected, T value, int operand, int width, int line) {
  Exchange all = emulator_exchange(to_bits(value), expected, line, false);
  int lane = static_cast<int>(emulator_lane());
  int first = lane & ~(width - 1);
  int source = mode == Shuffle::index ? first + (operand & (width - 1))
               : mode == Shuffle::up  ? lane - operand
               : mode == Shuffle::down ? lane + operand
                                       : lane ^ operand;
  if (mode == Shuffle::exclusive_or ? source >= first + width
                                    : source < first || source >= first + width)
    return value;
  if (!(all.lanes >> source & 1)) return from_bits<T>(emulator_absent_lane(source, line));
  return from_bits<T>(all.values[source]);
}

}  // namespace emulator
