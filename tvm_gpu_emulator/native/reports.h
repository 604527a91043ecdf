// What the owner of the library sets, and what it gets: faults and statistics.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

namespace emulator {
namespace {

// ---- configuration, set by the owner of this library ----
struct {
  bool check, collect, grid_is_limited;
  unsigned seed;
  size_t max_threads, max_shared;
} config = {false, false, false, 0, 1024, 49152};

// ---- reports ----
struct Report {
  std::string kind, kernel, detail;
  int line;  // 0: to be found from pc
  uintptr_t pc, other_pc;
  size_t count;
};
std::vector<Report> reports;
std::string drained;
size_t reports_before_launch;

struct Statistic {
  std::string name;
  size_t launches;
  unsigned grid[3], block[3];
  size_t shared;
  double seconds;
};
std::vector<Statistic> statistics;

}  // namespace
}  // namespace emulator
