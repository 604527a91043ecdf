// Runs the blocks of a launch one after the other: the threads of a block are fibers that meet at
// barriers and in warps.
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "launch.h"
#include "sanitizer.h"

extern "C" void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);

namespace emulator {
namespace {

// ---- asynchronous copies ----
constexpr unsigned kAddressBits = 24;  // of a place within a shared array
struct Copy {
  char* to;
  const char* from;
  unsigned bytes;
  unsigned group;
};
// Of a thread: the copies that have not happened yet, and the number of groups it has committed.
struct Copies {
  std::vector<Copy> pending;
  unsigned groups;
};
std::vector<Copies> copies;

// ---- one launch ----
unsigned random_below(unsigned n) {
  config.seed = config.seed * 1664525u + 1013904223u;
  return static_cast<unsigned>((uint64_t(config.seed) * n) >> 32);
}
void shuffle_order(std::vector<unsigned>& order) {
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random_below(static_cast<unsigned>(i))]);
}

inline void resume(Fiber& fiber) {
  current = &fiber;
  enter(fiber);
  current = nullptr;
}

// The lanes that wait at one line meet; those at other lines wait for their own turn.
void release(unsigned warp, unsigned first, unsigned last) {
  int line = 0;
  for (unsigned i = first; i < last; ++i)
    if (fibers[i].state == State::in_warp && (!line || fibers[i].line < line)) line = fibers[i].line;
  Warp& meeting = warps[warp];
  meeting.lanes = 0;
  uint32_t expected = 0;
  bool synchronizes = false;
  for (unsigned i = first; i < last; ++i)
    if (fibers[i].state == State::in_warp && fibers[i].line == line) {
      meeting.lanes |= 1u << (i - first);
      meeting.values[i - first] = fibers[i].value;
      expected |= fibers[i].expected;
      synchronizes |= fibers[i].synchronizes;
      fibers[i].state = State::ready;
    }
  uint32_t existing = last - first == kWarp ? ~0u : (1u << (last - first)) - 1;
  uint32_t missing = expected & existing & ~meeting.lanes;
  if (missing) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(missing));
    current = &fibers[first + static_cast<unsigned>(__builtin_ctz(meeting.lanes))];
    report("divergent-shuffle", line, 0, 0,
           here() + " meets its warp without lane " + std::to_string(lane) +
               ", which the mask names");
    current = nullptr;
  }
  if (synchronizes) {
    ++meeting.epoch;
    warps_synchronize = true;
  }
}

// Runs every thread of a warp until each is done or at a barrier, or some wait for another block.
void run_warp(unsigned warp, std::vector<unsigned>& order) {
  unsigned first = warp * kWarp, last = std::min(first + kWarp, thread_count);
  for (;;) {
    if (config.seed) {
      order.resize(last - first);
      for (unsigned i = first; i < last; ++i) order[i - first] = i;
      shuffle_order(order);
      for (unsigned i : order)
        if (fibers[i].state == State::ready) {
          resume(fibers[i]);
          if (fatal) return;
        }
    } else {
      for (unsigned i = first; i < last; ++i)
        if (fibers[i].state == State::ready) {
          resume(fibers[i]);
          if (fatal) return;
        }
    }
    bool waiting = false, polling = false;
    for (unsigned i = first; i < last; ++i) {
      waiting |= fibers[i].state == State::in_warp;
      polling |= fibers[i].state == State::polling;
    }
    if (!waiting || polling) return;
    release(warp, first, last);
  }
}

void divergent(int line, unsigned example, std::string rest) {
  current = &fibers[example];
  report("divergent-barrier", line, 0, 0, here() + " waits at this barrier, " + rest);
  current = nullptr;
}

// What the scheduler and the checker keep of a block while another one runs.
struct Block {
  Index3 index;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<Copies> copies;
  std::vector<void*> shared_places;
  std::vector<std::vector<char>> memory;
  uint32_t interval, first_interval, last_interval;
  bool warps_synchronize, done;
};
constexpr uint32_t kIntervals = 1u << 16;  // of a block that runs beside others
constexpr unsigned kPatience = 1000;  // passes over all blocks in which nothing happened
size_t progress;  // stores, barriers and threads that ended: what a waiting block can wait for

void begin_block() {
  block_first_interval = ++interval;
  block_last_interval = ~0u;
  warps_synchronize = false;
  for (unsigned i = 0; i < thread_count; ++i) {
    fibers[i].state = State::ready;
    copies[i].pending.clear();
    copies[i].groups = 0;
  }
  for (unsigned w = 0; w < warps.size(); ++w) warps[w].epoch = 0;
}

// Runs the block until it is done; false where its threads wait for other blocks.
bool run_block() {
  unsigned warp_count = static_cast<unsigned>(warps.size());
  static std::vector<unsigned> order, lanes;
  for (unsigned i = 0; i < thread_count; ++i)
    if (fibers[i].state == State::polling) fibers[i].state = State::ready;
  for (;;) {
    if (config.seed) {
      order.resize(warp_count);
      for (unsigned w = 0; w < warp_count; ++w) order[w] = w;
      shuffle_order(order);
    }
    for (unsigned w = 0; w < warp_count; ++w) {
      run_warp(config.seed ? order[w] : w, lanes);
      if (fatal) return true;
    }
    unsigned done = 0, finished = 0, waiting = 0, other = 0;
    int line = 0;
    bool at_one_line = true, polls = false;
    for (unsigned i = 0; i < thread_count; ++i) {
      Fiber& fiber = fibers[i];
      polls |= fiber.state == State::polling;
      if (fiber.state == State::done) {
        ++done;
        finished = i;
      } else if (!line) {
        line = fiber.line;
        waiting = i;
      } else if (fiber.line != line) {
        at_one_line = false;
        other = i;
      }
    }
    if (polls) return false;
    ++progress;
    if (done == thread_count) return true;
    if (done) {
      divergent(line, waiting, place(finished) + " has returned (" + std::to_string(done) + " of " +
                                   std::to_string(thread_count) + " threads have)");
      fatal = true;
      return true;
    }
    if (!at_one_line)
      divergent(line, waiting,
                place(other) + " at the one of line " + std::to_string(fibers[other].line));
    if (interval == block_last_interval && config.check) {
      current = &fibers[waiting];
      report("launch", line, 0, 0,
             here() + " is at barrier " + std::to_string(kIntervals) +
                 " of a block that runs beside others: the checker tells fewer apart");
      current = nullptr;
      fatal = true;
      return true;
    }
    ++interval;
    for (unsigned w = 0; w < warp_count; ++w) warps[w].epoch = 0;
    for (unsigned i = 0; i < thread_count; ++i) fibers[i].state = State::ready;
  }
}

int fail(const std::string& message) {
  current = nullptr;
  TVMFFIErrorSetRaisedFromCStr("RuntimeError", message.c_str());
  return -1;
}

int finish() {
  if (reports.size() == reports_before_launch || config.collect) return 0;
  return fail("tvm_gpu_emulator: a kernel is at fault, see the reports");
}

int refuse(std::string detail) {
  report("launch", 0, 0, 0, std::move(detail));
  return finish();
}

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Copies of the global buffers in guarded slots; buffers that overlap share one. False, with the
// problem, where a pointer is of no known buffer.
bool guard_buffers(std::string& problem) {
  struct Use {
    uintptr_t first, last;
    unsigned argument;
    const Note* note;
  };
  std::vector<Use> uses;
  for (unsigned i = 0; i < kernel->pointers; ++i) {
    uintptr_t address = reinterpret_cast<uintptr_t>(arguments.pointers[i]);
    auto note = notes.find(address);
    if (note == notes.end()) {
      problem = std::string(kernel->pointer_names[i]) + " points to no buffer that the host declares";
      return false;
    }
    uses.push_back({address, address + note->second.bytes, i, &note->second});
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use& a, const Use& b) { return a.first < b.first; });
  for (size_t i = 0; i < uses.size();) {
    uintptr_t last = uses[i].last;
    size_t end = i + 1;
    while (end < uses.size() && (uses[end].first < last || uses[end].first == uses[i].first)) {
      last = std::max(last, uses[end].last);
      ++end;
    }
    Slot* slot = make_slot(last - uses[i].first, uses[i].note->item, false);
    if (!slot) {
      problem = uses[i].note->name + " is too large for the checker";
      return false;
    }
    slot->name = uses[i].note->name;
    slot->shape = uses[i].note->shape;
    slot->origin = reinterpret_cast<void*>(uses[i].first);
    memcpy(reinterpret_cast<void*>(slot->base), slot->origin, slot->bytes);
    for (; i < end; ++i) {
      size_t offset = uses[i].first - reinterpret_cast<uintptr_t>(slot->origin);
      arguments.pointers[uses[i].argument] = reinterpret_cast<void*>(slot->base + offset);
      if (uses[i].note->name != slot->name) slot->name += "/" + uses[i].note->name;
    }
  }
  return true;
}

std::vector<void*> shared_places;
std::vector<size_t> shared_sizes;

// Exchanges what is kept of a block with what the running one uses.
void exchange(Block& block) {
  std::swap(block_index, block.index);
  fibers.swap(block.fibers);
  warps.swap(block.warps);
  copies.swap(block.copies);
  shared_places.swap(block.shared_places);
  std::swap(interval, block.interval);
  std::swap(block_first_interval, block.first_interval);
  std::swap(block_last_interval, block.last_interval);
  std::swap(warps_synchronize, block.warps_synchronize);
}

// Gives the running block its fibers; false, with the problem, where there is no memory for them.
bool start_fibers(std::string& problem) {
  if (!make_fibers(thread_count)) {
    problem = "no memory for the stacks of " + std::to_string(thread_count) +
              " threads: " + strerror(errno) + " (sysctl vm.max_map_count, ulimit -v?)";
    return false;
  }
  for (unsigned i = 0; i < thread_count; ++i) {
    fibers[i].index = {i % block_extent.x, i / block_extent.x % block_extent.y,
                       i / block_extent.x / block_extent.y};
    if (!fibers[i].started) prepare(fibers[i]);
  }
  return true;
}

// Gives the running block its shared arrays: guarded ones for the checker, those of the kernel, or
// where `own` is set and for dynamic ones new ones in `memory`. False, with the problem, where the
// checker has no room.
bool place_shared(size_t dynamic, bool own, std::vector<std::vector<char>>& memory,
                  std::string& problem) {
  memory.resize(kernel->shared_count);
  for (unsigned i = 0; i < kernel->shared_count; ++i) {
    const SharedArray& array = kernel->shared[i];
    size_t bytes = array.bytes ? array.bytes : dynamic;
    shared_sizes[i] = bytes;
    if (config.check) {
      Slot* slot = make_slot(bytes, array.item, true);
      if (!slot) {
        problem = std::string("no room to check ") + array.name;
        return false;
      }
      slot->name = array.name;
      slot->shape = "shared memory, " + std::to_string(bytes / slot->item) + " elements";
      make_cells(*slot);
      shared_places[i] = reinterpret_cast<void*>(slot->base);
    } else if (array.data && !own) {
      shared_places[i] = array.data;
    } else {
      memory[i].resize(bytes + 128);
      uintptr_t start = (reinterpret_cast<uintptr_t>(memory[i].data()) + 127) / 128 * 128;
      shared_places[i] = reinterpret_cast<void*>(start);
    }
  }
  return true;
}

// Shared memory starts as NaN: nobody may rely on zeros or on the block before.
void clear_shared() {
  for (unsigned i = 0; i < kernel->shared_count; ++i)
    memset(shared_places[i], 0xff, shared_sizes[i]);
}

// The blocks of a launch, one after the other. False, with the problem, where memory is missing.
bool run_in_turn(const int64_t* grid, size_t dynamic, std::string& problem) {
  static std::vector<std::vector<char>> memory;
  bool fiberless = kernel->block && !config.check;
  if (!place_shared(dynamic, false, memory, problem)) return false;
  if (!fiberless && !start_fibers(problem)) return false;
  for (unsigned z = 0; z < grid[2] && !fatal; ++z)
    for (unsigned y = 0; y < grid[1] && !fatal; ++y)
      for (unsigned x = 0; x < grid[0] && !fatal; ++x) {
        block_index = {x, y, z};
        clear_shared();
        if (fiberless) {
          kernel->block(arguments, block_index, block_extent);
        } else {
          if (config.check) block_intervals.push_back(interval + 1);
          begin_block();
          run_block();
        }
      }
  if (fatal)  // fibers were left in the middle of the kernel
    for (unsigned i = 0; i < thread_count; ++i) fibers[i].started = false;
  return true;
}

void report_deadlock() {
  for (unsigned i = 0; i < thread_count && !fatal; ++i)
    if (fibers[i].state == State::polling) {
      current = &fibers[i];
      report("deadlock", fibers[i].line, 0, 0,
             here() + " waits for a value that no thread of the launch writes any more");
      current = nullptr;
      fatal = true;
    }
}

// The blocks of a launch side by side: each runs until its threads wait for a value of another one.
// False, with the problem, where there is no memory for all of them.
bool run_side_by_side(const int64_t* grid, size_t dynamic, std::string& problem) {
  std::vector<Block> blocks(size_t(grid[0] * grid[1] * grid[2]));
  uint32_t next = interval;
  size_t live = blocks.size();
  for (size_t number = 0; number < blocks.size() && problem.empty(); ++number) {
    Block& block = blocks[number];
    block.index = {unsigned(number % grid[0]), unsigned(number / grid[0] % grid[1]),
                   unsigned(number / (grid[0] * grid[1]))};
    block.interval = next;
    block.shared_places.resize(kernel->shared_count);
    block.warps.resize(warps.size());
    block.copies.resize(thread_count);
    exchange(block);
    if (place_shared(dynamic, true, block.memory, problem) && start_fibers(problem)) {
      clear_shared();
      begin_block();
      block_last_interval = block_first_interval + kIntervals - 1;
      block_intervals.push_back(block_first_interval);
      next = block_last_interval;
    }
    exchange(block);
  }
  size_t before = progress;
  for (unsigned passes = 0; problem.empty() && live && !fatal; ++passes) {
    if (progress != before) passes = 0;
    before = progress;
    for (Block& block : blocks) {
      if (block.done || fatal) continue;
      exchange(block);
      block.done = run_block();
      if (block.done) --live;
      if (passes == kPatience) report_deadlock();
      exchange(block);
    }
  }
  for (Block& block : blocks)
    for (Fiber& fiber : block.fibers) munmap(fiber.stack, kStack);
  interval = next;
  return problem.empty();
}

}  // namespace

extern "C" {

void* emulator_shared(int index) { return shared_places[size_t(index)]; }

uint32_t emulator_shared_address(const void* place) {
  const char* address = static_cast<const char*>(place);
  for (size_t i = 0; i < shared_places.size(); ++i) {
    const char* first = static_cast<const char*>(shared_places[i]);
    if (address >= first && size_t(address - first) < shared_sizes[i])
      return uint32_t(i << kAddressBits | size_t(address - first));
  }
  return ~0u;  // refused by the copy
}

void emulator_copy_async(uint32_t to, const void* from, unsigned bytes, int line) {
  size_t array = to >> kAddressBits, offset = to & ((1u << kAddressBits) - 1);
  if (array >= shared_places.size() || offset + bytes > shared_sizes[array])
    return stop("out-of-bounds", line, 0, here() + " copies to a place outside of shared memory");
  char* place = static_cast<char*>(shared_places[array]) + offset;
  const char* source = static_cast<const char*>(from);
  if (offset % bytes || reinterpret_cast<uintptr_t>(source) % bytes) {
    report("misaligned", line, 0, 0,
           here() + " copies " + std::to_string(bytes) + " bytes at a time " +
               (offset % bytes ? "to" : "from") + " an address that is no multiple of them");
  }
  if (config.check) {
    check_access(uintptr_t(source), bytes, false, __builtin_return_address(0));
    check_access(uintptr_t(place), bytes, true, __builtin_return_address(0));
  }
  // The copy may happen at any time from now on: until then the place holds no value at all.
  memset(place, 0xff, bytes);
  Copies& mine = copies[current->number];
  mine.pending.push_back({place, source, bytes, mine.groups});
}

void emulator_commit_copies() { ++copies[current->number].groups; }

void emulator_wait_for_copies(unsigned groups) {
  Copies& mine = copies[current->number];
  // Those of the groups before the last `groups` ones; copies without a group are not waited for.
  auto due = [&](const Copy& copy) { return copy.group + groups < mine.groups; };
  for (const Copy& copy : mine.pending)
    if (due(copy)) {
      if (config.check)
        check_access(uintptr_t(copy.to), copy.bytes, true, __builtin_return_address(0));
      memcpy(copy.to, copy.from, copy.bytes);
    }
  mine.pending.erase(std::remove_if(mine.pending.begin(), mine.pending.end(), due),
                     mine.pending.end());
}

void emulator_barrier(int line) { wait(State::at_barrier, line); }

unsigned emulator_lane() { return current->number % kWarp; }

Exchange emulator_exchange(uint64_t value, uint32_t expected, int line, bool synchronizes_memory) {
  current->value = value;
  current->expected = expected;
  current->synchronizes = synchronizes_memory;
  unsigned warp = current->number / kWarp;
  wait(State::in_warp, line);
  return {warps[warp].values, warps[warp].lanes};
}

uint64_t emulator_absent_lane(int source, int line) {
  report("divergent-shuffle", line, 0, 0,
         here() + " asks for the value of lane " + std::to_string(source) +
             ", which does not take part");
  return ~uint64_t(0);
}

uint32_t emulator_load_relaxed(const void* place, int line) {
  wait(State::polling, line);  // the others go first
  if (config.check) check_place(uintptr_t(place), 4, false, __builtin_return_address(0));
  uint32_t value;
  memcpy(&value, place, sizeof value);
  return value;
}

void emulator_store_relaxed(const void* place, uint32_t value) {
  if (config.check) check_place(uintptr_t(place), 4, true, __builtin_return_address(0));
  memcpy(const_cast<void*>(place), &value, sizeof value);
  ++progress;
}

int emulator_launch(const Kernel* which, const Value* values, int count) {
  kernel = which;
  fatal = false;
  reports_before_launch = reports.size();
  unsigned parameters = kernel->pointers + kernel->scalars;
  if (count != int(parameters + kernel->tag_count))
    return fail(std::string("tvm_gpu_emulator: ") + kernel->name + " was launched with " +
                std::to_string(count) + " values and takes " +
                std::to_string(parameters + kernel->tag_count));
  for (unsigned i = 0; i < kernel->pointers; ++i)
    arguments.pointers[i] = values[kernel->pointer_positions[i]].pointer;
  for (unsigned i = 0; i < kernel->scalars; ++i)
    arguments.scalars[i] = values[kernel->scalar_positions[i]];
  int64_t extents[7] = {1, 1, 1, 1, 1, 1, 0};
  for (unsigned i = 0; i < kernel->tag_count; ++i)
    extents[kernel->tags[i]] = values[parameters + i].integer;
  const int64_t *grid = extents, *block = extents + 3;
  size_t dynamic = size_t(extents[kDynamicShared]);
  size_t shared = dynamic;
  for (unsigned i = 0; i < kernel->shared_count; ++i) shared += kernel->shared[i].bytes;

  for (int d = 0; d < 6; ++d)
    if (extents[d] < 1)
      return refuse(std::string(d < 3 ? "grid" : "block") + "." + "xyz"[d % 3] + " is " +
                    std::to_string(extents[d]));
  if (config.grid_is_limited && (grid[1] > 65535 || grid[2] > 65535 || grid[0] > 2147483647))
    return refuse("the grid (" + std::to_string(grid[0]) + "," + std::to_string(grid[1]) + "," +
                  std::to_string(grid[2]) + ") is over the limit (2147483647,65535,65535)");
  if (size_t(block[0] * block[1] * block[2]) > config.max_threads)
    return refuse("a block of " + std::to_string(block[0] * block[1] * block[2]) +
                  " threads, the target has " + std::to_string(config.max_threads));
  if (shared > config.max_shared)
    return refuse(std::to_string(shared) + " bytes of shared memory, the target has " +
                  std::to_string(config.max_shared));

  Statistic entry = {};
  for (size_t i = 0; i < statistics.size(); ++i)
    if (statistics[i].name == kernel->name) {
      entry = statistics[i];
      statistics.erase(statistics.begin() + long(i));
      break;
    }
  entry.name = kernel->name;
  ++entry.launches;
  for (int d = 0; d < 3; ++d) {
    entry.grid[d] = unsigned(grid[d]);
    entry.block[d] = unsigned(block[d]);
  }
  entry.shared = shared;
  statistics.push_back(entry);  // the last one is the running one
  double started = seconds();

  thread_count = unsigned(block[0] * block[1] * block[2]);
  block_extent = {unsigned(block[0]), unsigned(block[1]), unsigned(block[2])};
  warps.resize((thread_count + kWarp - 1) / kWarp);

  slot_count = 0;
  shared_places.assign(kernel->shared_count, nullptr);
  shared_sizes.assign(kernel->shared_count, 0);
  copies.resize(std::max(copies.size(), size_t(thread_count)));
  std::string problem;
  if (config.check) {
    size_t blocks = kernel->waits ? size_t(grid[0] * grid[1] * grid[2]) : 1;
    size_t wanted = kernel->pointers + kernel->shared_count * blocks;
    if (wanted > kSlots)
      return fail("tvm_gpu_emulator: the checker has room for " + std::to_string(kSlots) +
                  " buffers and shared arrays, and " + std::to_string(blocks) +
                  " blocks that run side by side have " + std::to_string(wanted));
    if (!make_arena(unsigned(wanted)))
      return fail("tvm_gpu_emulator: no address space for the checker (ulimit -v?)");
    // Cells are made anew for every launch: nothing refers to old intervals.
    if (interval > 0xf0000000u) interval = 0;
    if (!guard_buffers(problem)) return fail("tvm_gpu_emulator: " + problem);
  }

  launch_first_interval = interval + 1;
  block_intervals.clear();
  if (!(kernel->waits ? run_side_by_side : run_in_turn)(grid, dynamic, problem))
    return fail("tvm_gpu_emulator: " + problem);
  current = nullptr;
  for (unsigned i = 0; i < slot_count; ++i) {
    Slot& slot = slots[i];
    if (slot.written && !slot.shared)
      memcpy(slot.origin, reinterpret_cast<void*>(slot.base), slot.bytes);
  }
  statistics.back().seconds += seconds() - started;
  return finish();
}

#define EXPORT __attribute__((visibility("default")))

EXPORT void emulator_configure(int check, int collect, int grid_is_limited, unsigned seed,
                               size_t max_threads, size_t max_shared) {
  config = {check != 0, collect != 0, grid_is_limited != 0, seed, max_threads, max_shared};
}

// Gives the stacks and the checker's memory back; a later launch makes new ones.
EXPORT void emulator_release() {
  free_fibers();
  free_arena();
}

// The reports since the last call, a line each, fields separated by tabs.
EXPORT const char* emulator_take_reports() {
  drained.clear();
  for (const Report& r : reports) {
    char head[160];
    snprintf(head, sizeof head, "\t%d\t%zu\t%zu\t%zu\t", r.line, size_t(r.pc), size_t(r.other_pc),
             r.count);
    drained += r.kind + "\t" + r.kernel + head + r.detail + "\n";
  }
  reports.clear();
  reports_before_launch = 0;
  return drained.c_str();
}

EXPORT const char* emulator_statistics() {
  drained.clear();
  for (const Statistic& s : statistics) {
    char text[200];
    snprintf(text, sizeof text, "\t%zu\t%u\t%u\t%u\t%u\t%u\t%u\t%zu\t%.9f\n", s.launches, s.grid[0],
             s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared, s.seconds);
    drained += s.name + text;
  }
  return drained.c_str();
}

struct Tensor {  // DLTensor
  void* data;
  int32_t device[2];
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
};

// Called by the host before a launch, for every buffer that it passes: (name, tensor).
EXPORT int __tvm_ffi_gpu_emulator_note(void*, const Value* values, int32_t count, Value* result) {
  result->type = 0;
  result->padding = 0;
  result->integer = 0;
  if (count != 2 || values[0].type != kText || values[1].type != kTensor)
    return fail("tvm_gpu_emulator: a buffer's note is malformed");
  const Tensor& tensor = *static_cast<const Tensor*>(values[1].pointer);
  static const char* const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  size_t elements = 1;
  std::string shape = tensor.code < 7 ? kinds[tensor.code] : "type";
  shape += std::to_string(tensor.bits) + " (";
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] <= 0)
      elements = 0;
    else if (tensor.strides && elements)
      elements += size_t(tensor.shape[d] - 1) * size_t(tensor.strides[d]);
    else
      elements *= size_t(tensor.shape[d]);
    shape += (d ? ", " : "") + std::to_string(tensor.shape[d]);
  }
  unsigned item = (unsigned(tensor.bits) * tensor.lanes + 7) / 8;
  uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  notes[address] = {values[0].text, shape + ")", elements * item, item};
  return 0;
}
}  // extern "C"
}  // namespace emulator
