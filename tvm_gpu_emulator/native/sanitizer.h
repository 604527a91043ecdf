// The calls that -fsanitize=thread, bounds and alignment put into a kernel. The sanitizers' own
// runtimes are not linked.
#pragma once
#include "checker.h"

namespace emulator {
extern "C" {
#define HOOKS(n)                                                                              \
  void __tsan_read##n(void* p) {                                                       \
    check_access(uintptr_t(p), n, false, __builtin_return_address(0));                  \
  }                                                                                           \
  void __tsan_write##n(void* p) {                                                      \
    check_access(uintptr_t(p), n, true, __builtin_return_address(0));                   \
  }                                                                                           \
  void __tsan_unaligned_read##n(void* p) {                                             \
    check_access(uintptr_t(p), n, false, __builtin_return_address(0));                 \
  }                                                                                           \
  void __tsan_unaligned_write##n(void* p) {                                            \
    check_access(uintptr_t(p), n, true, __builtin_return_address(0));                  \
  }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void* p, size_t n) {
  check_access(uintptr_t(p), n, false, __builtin_return_address(0));
}
void __tsan_write_range(void* p, size_t n) {
  check_access(uintptr_t(p), n, true, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];
};
struct AlignmentData {
  const char* file;
  uint32_t line, column;
  const TypeDescriptor* type;
  uint8_t log_alignment, access;
};
// -fsanitize=alignment: a vector at an address that is no multiple of its alignment.
void __ubsan_handle_type_mismatch_v1(AlignmentData* data, void* pointer) {
  if (!current) return;
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer), relative = address - arena;
  std::string where = "outside of the kernel's buffers";
  if (relative >> kSlotBits < slot_count) {
    const Slot& slot = slots[relative >> kSlotBits];
    where = "at byte " + std::to_string(static_cast<long>(address - slot.base)) + " of " + slot.name;
  }
  report("misaligned", int(data->line), 0, 0,
         here() + " uses a value of type " + data->type->name + " " + where +
             ", which has to be a multiple of " + std::to_string(1u << data->log_alignment));
}

struct BoundsData {
  const char* file;
  uint32_t line, column;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};
// -fsanitize=bounds: an index beyond an array's declaration, local arrays included.
void __ubsan_handle_out_of_bounds(BoundsData* data, void* index) {
  if (!current) return;
  stop("out-of-bounds", int(data->line), 0,
       here() + " uses index " + std::to_string(static_cast<long>(reinterpret_cast<intptr_t>(index))) +
           " of an array declared as " + data->array->name);
}
}  // extern "C"
}  // namespace emulator
