// What a compiled kernel and the scheduler that runs it know of each other.
#pragma once
#include "meetings.h"

namespace emulator {

struct Index3 {
  unsigned x, y, z;
};

// TVM FFI's tagged value: 16 bytes, stable C ABI.
struct Value {
  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void* pointer;
    const char* text;
  };
};
enum ValueType : int32_t { kInt = 1, kBool = 2, kFloat = 3, kPointer = 4, kTensor = 7, kText = 8 };

constexpr int kMaxArguments = 64;

// The arguments of one launch, as every thread sees them.
struct Arguments {
  void* pointers[kMaxArguments];
  Value scalars[kMaxArguments];
};

template <class T>
EMULATOR_OWN inline T scalar(const Value& value) {
  return value.type == kFloat ? static_cast<T>(value.real) : static_cast<T>(value.integer);
}

// Converts itself to the pointer type that a kernel's parameter asks for.
struct AnyPointer {
  void* address;
  template <class T>
  EMULATOR_OWN operator T*() const {
    return static_cast<T*>(address);
  }
};

struct SharedArray {
  const char* name;
  void* data;  // null: dynamic. Not used in checked builds and where blocks run side by side
  size_t bytes;  // 0: dynamic
  unsigned item;  // bytes of one element
  int line;
};

enum LaunchTag : int { kBlockX, kBlockY, kBlockZ, kThreadX, kThreadY, kThreadZ, kDynamicShared };

struct Kernel {
  const char* name;
  unsigned pointers, scalars;
  const int* pointer_positions;  // where in the argument list
  const int* scalar_positions;
  const char* const* pointer_names;
  const int* tags;  // LaunchTag of every argument after the parameters
  unsigned tag_count;
  void (*thread)(const Arguments&, Index3 thread, Index3 block);
  // All threads of a block in turn; null where threads must meet (barriers, shuffles, checks).
  void (*block)(const Arguments&, Index3 block, Index3 extent);
  const SharedArray* shared;
  unsigned shared_count;
  bool waits;  // its blocks may wait for each other, and run side by side
};

extern "C" {
int emulator_launch(const Kernel* kernel, const Value* values, int count);
void* emulator_shared(int index);
// cp.async: shared memory has 32-bit addresses, and copies happen when their thread waits for them.
uint32_t emulator_shared_address(const void* place);
void emulator_copy_async(uint32_t to, const void* from, unsigned bytes, int line);
void emulator_commit_copies();
void emulator_wait_for_copies(unsigned groups);
// Accesses that are ordered with those of no other thread; a load lets other threads run first.
uint32_t emulator_load_relaxed(const void* place, int line);
void emulator_store_relaxed(const void* place, uint32_t value);
}  // extern "C"

}  // namespace emulator
