// CUDA text as C++ whose threads run one after another: right for kernels without barriers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

struct Index {
  unsigned x, y, z;
};
static Index blockIdx, threadIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __syncthreads() std::abort()
template <class A, class B>
static auto max(A a, B b) { return a > b ? a : b; }
template <class A, class B>
static auto min(A a, B b) { return a < b ? a : b; }

template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** given, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(given[I])...);
}
template <class... A>
static void run(void (*kernel)(A...), const unsigned* grid, const unsigned* block, void** given) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
        for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
          for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x)
              call(kernel, given, std::index_sequence_for<A...>());
}
template <class... A, size_t... I>
static void** keep(void (*)(A...), void** given, std::index_sequence<I...>) {
  return new void*[sizeof...(A)]{new A(*static_cast<A*>(given[I]))...};
}
template <class... A>
static void** keep(void (*kernel)(A...), void** given) {
  return keep(kernel, given, std::index_sequence_for<A...>());
}
#define LAUNCH(name)                                                                         \
  extern "C" void launch_##name(const unsigned* grid, const unsigned* block, void** given) { \
    run(name, grid, block, given);                                                           \
  }                                                                                          \
  extern "C" void** keep_##name(void** given) { return keep(name, given); }
