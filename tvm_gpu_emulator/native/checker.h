// Watches the accesses of a checked kernel.
#pragma once
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "fibers.h"

namespace emulator {
namespace {

// Every access carries the interval between barriers in which it happened. Intervals are numbered
// on and on, over blocks and launches, so that nothing has to be cleared.
struct Access {
  uint32_t interval;
  uint32_t pc;
  uint16_t thread;
  uint16_t warp_epoch;
};
struct Cell {
  Access write;
  Access read;      // the first reader of its interval
  Access reader;    // another reader of the same interval
  Access earlier;   // a reader in another block
};

// Memory of the checker: one slot of address space per buffer, 4 GiB apart with the data in the
// middle, so that an index that is wrong by less than a gigabyte stays in its own slot.
constexpr unsigned kSlotBits = 32;
constexpr unsigned kSlots = 1024;
constexpr unsigned kFewSlots = 96;  // what the arena has at least; address space can be scarce
struct Slot {
  uintptr_t base;
  size_t bytes;
  Cell* cells;  // null: nobody has written to this buffer
  uint8_t granule;  // log2 of the bytes of one cell
  bool shared, written;
  unsigned item;
  size_t mapped, cell_bytes;
  void* origin;
  std::string name, shape;
};
uintptr_t arena;
unsigned arena_slots;
Slot slots[kSlots];
bool warps_synchronize;  // some warp has met by itself in this block: warp epochs matter
unsigned slot_count;
uint32_t interval, block_first_interval, block_last_interval, launch_first_interval;
std::vector<uint32_t> block_intervals;
uintptr_t text_base;

struct Note {
  std::string name, shape;
  size_t bytes;
  unsigned item;
};
std::map<uintptr_t, Note> notes;

void free_arena() {
  for (Slot& slot : slots) {
    if (slot.cells) munmap(slot.cells, slot.cell_bytes);
    slot = {};
  }
  if (arena) munmap(reinterpret_cast<void*>(arena), size_t(arena_slots) << kSlotBits);
  arena = 0;
}

// An arena of at least this many slots, at most kSlots; false without the address space.
bool make_arena(unsigned wanted) {
  if (arena && wanted <= arena_slots) return true;
  free_arena();
  arena_slots = std::max(wanted, kFewSlots);
  void* memory = mmap(nullptr, size_t(arena_slots) << kSlotBits, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  arena = reinterpret_cast<uintptr_t>(memory);
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&make_arena), &info))
    text_base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  return true;
}

Slot* make_slot(size_t bytes, unsigned item, bool shared) {
  if (slot_count == arena_slots || bytes > size_t(1) << 30) return nullptr;
  Slot& slot = slots[slot_count];
  slot.base = arena + (size_t(slot_count) << kSlotBits) + (size_t(1) << (kSlotBits - 1));
  ++slot_count;
  slot.bytes = bytes;
  slot.item = item ? item : 1;
  slot.granule = slot.item >= 4 ? 2 : slot.item >= 2 ? 1 : 0;
  slot.shared = shared;
  slot.written = false;
  slot.origin = nullptr;
  size_t pages = (bytes + 4095) / 4096 * 4096;
  if (pages > slot.mapped) {
    if (mprotect(reinterpret_cast<void*>(slot.base), pages, PROT_READ | PROT_WRITE)) return nullptr;
    slot.mapped = pages;
  }
  if (slot.cells) munmap(slot.cells, slot.cell_bytes);
  slot.cells = nullptr;
  return &slot;
}

void make_cells(Slot& slot) {
  slot.cell_bytes = ((slot.bytes >> slot.granule) + 1) * sizeof(Cell);
  void* memory = mmap(nullptr, slot.cell_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "tvm_gpu_emulator: no memory for the checker (%zu bytes)\n", slot.cell_bytes);
    abort();
  }
  slot.cells = static_cast<Cell*>(memory);
}

std::string element(const Slot& slot, size_t offset) {
  char text[64];
  snprintf(text, sizeof text, "[%lld]", static_cast<long long>(offset) / (long long)slot.item);
  return slot.name + text;
}

// Whether an interval of this launch belongs to the running block.
inline bool of_this_block(uint32_t number) {
  return number >= block_first_interval && number <= block_last_interval;
}

std::string who(const Access& access) {
  std::string text = place(access.thread);
  if (!of_this_block(access.interval)) {
    size_t block = std::upper_bound(block_intervals.begin(), block_intervals.end(),
                                    access.interval) - block_intervals.begin() - 1;
    unsigned gx = statistics.back().grid[0], gy = statistics.back().grid[1];
    char where[96];
    snprintf(where, sizeof where, " of block (%zu,%zu,%zu)", block % gx, block / gx % gy,
             block / gx / gy);
    text += where;
  }
  return text;
}

__attribute__((noinline)) void report_race(const Slot& slot, size_t offset, bool writes, uint32_t pc,
                                           const Access& other, bool other_wrote) {
  const char* how = !of_this_block(other.interval)
                        ? "; blocks of a launch are in no order"
                        : " with no barrier between";
  report("race", 0, pc, other.pc,
         here() + (writes ? " writes " : " reads ") + element(slot, offset) + ", which " +
             who(other) + (other_wrote ? " wrote" : " read") + how);
}

__attribute__((noinline)) void stop(const char* kind, int line, uintptr_t pc, std::string detail) {
  report(kind, line, pc, 0, std::move(detail));
  fatal = true;
  current->state = State::done;
  leave();
}

// Whether the other access may happen at the same time as one that the current thread makes now.
inline bool concurrent(const Access& other, bool shared, uint16_t warp_epoch) {
  if (other.interval < launch_first_interval) return false;
  if (!of_this_block(other.interval)) return !shared;
  if (other.interval != interval || other.thread == current->number) return false;
  return other.thread / kWarp != current->number / kWarp || other.warp_epoch >= warp_epoch;
}

__attribute__((noinline)) void check_outside(uintptr_t address, bool writes, uint32_t pc) {
  unsigned index = static_cast<unsigned>((address - arena) >> kSlotBits);
  std::string what = here() + (writes ? " writes " : " reads ");
  if ((address - arena) >> kSlotBits >= slot_count) {
    if (address - reinterpret_cast<uintptr_t>(current->stack) < kStack) return;
    stop("out-of-bounds", 0, pc, what + "memory of no buffer of this kernel");
  } else {
    const Slot& slot = slots[index];
    stop("out-of-bounds", 0, pc, what + element(slot, address - slot.base) + " outside of " + slot.shape);
  }
}

__attribute__((noinline)) void check_cells(Slot& slot, size_t offset, size_t size, bool writes,
                                           uint32_t pc) {
  uint16_t warp_epoch = warps[current->number / kWarp].epoch;
  Access mine = {interval, pc, static_cast<uint16_t>(current->number), warp_epoch};
  for (size_t i = offset >> slot.granule; i <= (offset + size - 1) >> slot.granule; ++i) {
    Cell& cell = slot.cells[i];
    size_t at = i << slot.granule;
    if (concurrent(cell.write, slot.shared, warp_epoch))
      report_race(slot, at, writes, pc, cell.write, true);
    if (writes) {
      if (concurrent(cell.read, slot.shared, warp_epoch))
        report_race(slot, at, true, pc, cell.read, false);
      else if (concurrent(cell.reader, slot.shared, warp_epoch))
        report_race(slot, at, true, pc, cell.reader, false);
      else if (concurrent(cell.earlier, slot.shared, warp_epoch))
        report_race(slot, at, true, pc, cell.earlier, false);
      cell.write = mine;
      continue;
    }
    if (slot.shared && !of_this_block(cell.write.interval))
      report("uninitialized", 0, pc, 0,
             here() + " reads " + element(slot, at) + ", which no thread of the block has written");
    if (cell.read.interval != interval) {
      if (cell.read.interval >= launch_first_interval && !of_this_block(cell.read.interval))
        cell.earlier = cell.read;
      cell.read = mine;
    } else if (cell.read.thread == mine.thread) {
      cell.read = mine;
    } else {
      cell.reader = mine;
    }
  }
}

// Whether a read of the cell is known to be harmless and has nothing to add to it: written in an
// earlier interval of this block or by this thread, and read in this one by two threads or by this.
inline bool settled(const Cell& cell) {
  uint32_t number = current->number;
  if (!of_this_block(cell.write.interval) || warps_synchronize) return false;
  if (cell.write.interval == interval && cell.write.thread != number) return false;
  if (cell.read.interval != interval) return false;
  return cell.read.thread == number || cell.reader.interval == interval;
}

// A relaxed access is no race with another one: only its place is checked.
inline void check_place(uintptr_t address, size_t size, bool writes, void* from) {
  uint32_t pc = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) - text_base);
  uintptr_t index = (address - arena) >> kSlotBits;
  if (index >= slot_count || address - slots[index].base >= slots[index].bytes ||
      slots[index].bytes - (address - slots[index].base) < size)
    return check_outside(address, writes, pc);
  if (writes) slots[index].written = true;
}

inline void check_access(uintptr_t address, size_t size, bool writes, void* from) {
  if (__builtin_expect(!current, 0)) return;
  uint32_t pc = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) - text_base);
  uintptr_t index = (address - arena) >> kSlotBits;
  if (__builtin_expect(index >= slot_count, 0)) return check_outside(address, writes, pc);
  Slot& slot = slots[index];
  size_t offset = address - slot.base;
  if (__builtin_expect(offset >= slot.bytes || slot.bytes - offset < size, 0))
    return check_outside(address, writes, pc);
  if (writes) {
    slot.written = true;
    if (!slot.cells) make_cells(slot);
  } else {
    if (!slot.cells) return;
    if (size == size_t(1) << slot.granule && settled(slot.cells[offset >> slot.granule])) return;
  }
  check_cells(slot, offset, size, writes, pc);
}

}  // namespace
}  // namespace emulator
