// The threads of a block: a stack each, switched by hand.
#pragma once
#include <stdio.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <string>
#include <utility>
#include <vector>

#include "launch.h"
#include "reports.h"

namespace emulator {
namespace {

constexpr unsigned kWarp = 32;
constexpr size_t kStack = 256 << 10;
constexpr size_t kMaxReports = 64;

enum class State : uint8_t { ready, at_barrier, in_warp, polling, done };

struct Fiber {
  State state;
  bool started;
  int line;  // where it waits
  unsigned number;
  Index3 index;
  uint64_t value;
  uint32_t expected;
  bool synchronizes;
  char* stack;
#if defined(__x86_64__)
  void* sp;
#else
  ucontext_t context;
#endif
};

std::vector<Fiber> fibers;
Fiber* current;
unsigned thread_count;
bool fatal;  // the launch cannot go on
const Kernel* kernel;
Arguments arguments;
Index3 block_index, block_extent;

struct Warp {
  uint64_t values[kWarp];
  uint32_t lanes;
  uint16_t epoch;
};
std::vector<Warp> warps;

#if defined(__x86_64__)
void* scheduler_sp;
extern "C" void emulator_switch(void** save, void* load);
asm(R"(
.text
.hidden emulator_switch
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulator_switch, .-emulator_switch
)");
inline void leave() { emulator_switch(&current->sp, scheduler_sp); }
inline void enter(Fiber& fiber) { emulator_switch(&scheduler_sp, fiber.sp); }
#else
ucontext_t scheduler_context;
inline void leave() { swapcontext(&current->context, &scheduler_context); }
inline void enter(Fiber& fiber) { swapcontext(&scheduler_context, &fiber.context); }
#endif

// Every block reuses the fiber: the thread function is called again and again on the same stack.
void fiber_main() {
  for (;;) {
    kernel->thread(arguments, current->index, block_index);
    current->state = State::done;
    leave();
  }
}

void prepare(Fiber& fiber) {
  // Stacks a power of two apart would share cache sets: shift each by a few lines.
  size_t shift = fiber.number % 61 * 192;
#if defined(__x86_64__)
  void** top = reinterpret_cast<void**>(fiber.stack + kStack - 64 - shift);
  *--top = nullptr;  // keeps the stack aligned as after a call
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.sp = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStack - shift;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
#endif
  fiber.started = true;
}

// A stack takes two of the process's mappings, of which Linux allows 65530 (vm.max_map_count).
bool make_fibers(unsigned count) {
  while (fibers.size() < count) {
    void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (mprotect(memory, 4096, PROT_NONE)) {
      munmap(memory, kStack);
      return false;
    }
    Fiber fiber = {};
    fiber.stack = static_cast<char*>(memory);
    fiber.number = static_cast<unsigned>(fibers.size());
    fibers.push_back(fiber);
  }
  return true;
}

void free_fibers() {
  for (Fiber& fiber : fibers) munmap(fiber.stack, kStack);
  fibers = {};
}

void wait(State state, int line) {
  current->state = state;
  current->line = line;
  leave();
}

std::string place(unsigned thread) {
  char text[96];
  Index3 t = fibers[thread].index;
  snprintf(text, sizeof text, "thread (%u,%u,%u)", t.x, t.y, t.z);
  return text;
}
std::string here() {
  char text[96];
  snprintf(text, sizeof text, " of block (%u,%u,%u)", block_index.x, block_index.y, block_index.z);
  return place(current->number) + text;
}

void report(const char* kind, int line, uintptr_t pc, uintptr_t other_pc, std::string detail) {
  for (size_t i = reports_before_launch; i < reports.size(); ++i) {
    Report& known = reports[i];
    if (known.line == line && known.pc == pc && known.other_pc == other_pc && known.kind == kind) {
      ++known.count;
      return;
    }
  }
  if (reports.size() - reports_before_launch < kMaxReports)
    reports.push_back({kind, kernel->name, std::move(detail), line, pc, other_pc, 1});
}

}  // namespace
}  // namespace emulator
