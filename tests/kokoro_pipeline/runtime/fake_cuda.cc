// A CUDA driver (-DDRIVER) and runtime (-DRUNTIME) of a GPU that is not there: memory is the host's,
// and a kernel is a function `launch_NAME` of the library $FAKE_CUDA_KERNELS. What a machine can be
// is said by variables; every copy and allocation is a line of the file $FAKE_CUDA_LOG.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

extern "C" {
#ifdef DRIVER
int cuInit(unsigned) { return number("FAKE_CUDA_INIT", 0); }
int cuDriverGetVersion(int* version) { return *version = number("FAKE_CUDA_VERSION", 13000), 0; }
int cuDeviceGetCount(int* count) { return *count = number("FAKE_CUDA_COUNT", 1), 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, size, "Fake GPU %d", device);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  long arch = number("FAKE_CUDA_ARCH", 90);
  *value = attribute == 75 ? arch / 10 : arch % 10;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = number("FAKE_CUDA_MEMORY", 1L << 30), 0; }
int cuGetErrorName(int code, const char** text) {
  *text = code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : "CUDA_ERROR_FAKE";
  return 0;
}
int cuGetErrorString(int, const char** text) { return *text = "fake", 0; }
int cuModuleLoadData(void** module, const void* data) {
  // What a library embeds must be machine code in its container.
  if (*static_cast<const unsigned*>(data) != 0xBA55ED50u) return 200;
  const char* path = std::getenv("FAKE_CUDA_KERNELS");
  *module = path ? dlopen(path, RTLD_NOW) : nullptr;
  return *module ? 0 : 209;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  char launch[512];
  std::snprintf(launch, sizeof launch, "launch_%s", name);
  *function = dlsym(module, launch);
  return *function ? 0 : 500;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuTensorMapEncodeTiled() { return 801; }
struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
};
int cuLaunchKernelEx(const Config* config, void* function, void** arguments, void**) {
  auto run = reinterpret_cast<void (*)(const unsigned*, const unsigned*, void**)>(function);
  run(config->grid, config->block, arguments);
  return 0;
}
#endif
#ifdef RUNTIME
static size_t used = 0;
static int last_error = 0;
static void log_line(const char* what, size_t bytes) {
  const char* path = std::getenv("FAKE_CUDA_LOG");
  if (!path) return;
  std::FILE* file = std::fopen(path, "a");
  std::fprintf(file, "%s %zu\n", what, bytes);
  std::fclose(file);
}
int cudaMalloc(void** place, size_t bytes) {
  if (used + bytes > size_t(number("FAKE_CUDA_MEMORY", 1L << 30))) return last_error = 2;
  log_line("malloc", bytes);
  used += bytes;
  auto* room = static_cast<size_t*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256));
  *room = bytes;
  *place = reinterpret_cast<char*>(room) + 256;
  return 0;
}
int cudaFree(void* place) {
  if (!place) return 0;
  auto* room = reinterpret_cast<size_t*>(static_cast<char*>(place) - 256);
  used -= *room;
  std::free(room);
  return 0;
}
int cudaMallocHost(void** place, size_t bytes) { return *place = std::malloc(bytes), 0; }
int cudaFreeHost(void* place) { return std::free(place), 0; }
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
  log_line(kind == 1 ? "up" : kind == 2 ? "down" : "across", bytes);
  std::memcpy(to, from, bytes);
  return 0;
}
int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, void*) {
  return std::memcpy(to, from, bytes), 0;
}
int cudaMemGetInfo(size_t* left, size_t* all) {
  *all = number("FAKE_CUDA_MEMORY", 1L << 30);
  *left = *all - used;
  return 0;
}
const char* cudaGetErrorString(int code) { return code == 2 ? "out of memory" : "fake error"; }
const char* cudaGetErrorName(int code) { return code == 2 ? "cudaErrorMemoryAllocation" : "fake"; }
int cudaGetLastError() { int error = last_error; return last_error = 0, error; }
int cudaPeekAtLastError() { return last_error; }
int cudaGetDeviceCount(int* count) { return *count = number("FAKE_CUDA_COUNT", 1), 0; }
static int current = 0;
int cudaGetDevice(int* device) { return *device = current, 0; }
int cudaSetDevice(int device) { return current = device, 0; }
int cudaDeviceGetAttribute(int* value, int, int) { return *value = 1024, 0; }
int cudaGetDeviceProperties(void*, int) { return 1; }
int cudaStreamCreate(void** stream) { return *stream = nullptr, 0; }
int cudaStreamCreateWithFlags(void** stream, unsigned) { return *stream = nullptr, 0; }
int cudaStreamDestroy(void*) { return 0; }
int cudaStreamSynchronize(void*) { return 0; }
int cudaStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cudaStreamBeginCapture(void*, int) { return 1; }
int cudaStreamEndCapture(void*, void**) { return 1; }
int cudaGraphInstantiate(void**, void*, unsigned long long) { return 1; }
int cudaGraphLaunch(void*, void*) { return 1; }
int cudaGraphDestroy(void*) { return 1; }
int cudaGraphExecDestroy(void*) { return 1; }
int cudaEventCreate(void** event) { return *event = nullptr, 0; }
int cudaEventDestroy(void*) { return 0; }
int cudaEventRecord(void*, void*) { return 0; }
int cudaEventSynchronize(void*) { return 0; }
int cudaEventElapsedTime(float* ms, void*, void*) { return *ms = 1, 0; }
#endif
}
