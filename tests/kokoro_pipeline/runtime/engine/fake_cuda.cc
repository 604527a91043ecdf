// A CUDA driver (-DDRIVER) and runtime (-DRUNTIME) of a GPU that is not there: memory is the host's,
// and a kernel is a function `launch_NAME` of the library $FAKE_CUDA_KERNELS. What a machine can be
// is said by variables; every copy, allocation and launch is a line of the file $FAKE_CUDA_LOG. A
// stream that captures keeps launches with their arguments, and what no stream may do meanwhile fails.
// Freed memory is overwritten.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

static void log_line(const char* what, size_t bytes) {
  const char* path = std::getenv("FAKE_CUDA_LOG");
  if (!path) return;
  std::FILE* file = std::fopen(path, "a");
  std::fprintf(file, "%s %zu\n", what, bytes);
  std::fclose(file);
}

struct Kernel {
  void (*run)(const unsigned*, const unsigned*, void**);
  void** (*keep)(void**);
};
struct Launch {
  const Kernel* kernel;
  unsigned grid[3], block[3];
  void** arguments;
};
struct Capture {
  void* stream;
  std::vector<Launch> launches;
};

extern "C" {
#ifdef DRIVER
Capture* fake_capture = nullptr;
void fake_launch(const Launch* launch) {
  launch->kernel->run(launch->grid, launch->block, launch->arguments);
}
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
  *value = attribute == 75   ? arch / 10
           : attribute == 76 ? arch % 10
                             : number("FAKE_CUDA_PROCESSORS", 100);  // attribute 16
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
  char symbol[512];
  auto* kernel = new Kernel;
  std::snprintf(symbol, sizeof symbol, "launch_%s", name);
  kernel->run = reinterpret_cast<decltype(kernel->run)>(dlsym(module, symbol));
  std::snprintf(symbol, sizeof symbol, "keep_%s", name);
  kernel->keep = reinterpret_cast<decltype(kernel->keep)>(dlsym(module, symbol));
  *function = kernel;
  return kernel->run && kernel->keep ? 0 : 500;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuTensorMapEncodeTiled() { return 801; }
struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
};
int cuLaunchKernelEx(const Config* config, void* function, void** arguments, void**) {
  Launch launch{static_cast<const Kernel*>(function), {}, {}, arguments};
  std::memcpy(launch.grid, config->grid, sizeof launch.grid);
  std::memcpy(launch.block, config->block, sizeof launch.block);
  if (fake_capture) {
    if (config->stream != fake_capture->stream) return 906;  // STREAM_CAPTURE_IMPLICIT
    launch.arguments = launch.kernel->keep(arguments);
    fake_capture->launches.push_back(launch);
    return 0;
  }
  log_line("launch", 1);
  fake_launch(&launch);
  return 0;
}
#endif
#ifdef RUNTIME
static size_t used = 0;
static int last_error = 0;
static Capture*& capture() {
  static auto* place =
      static_cast<Capture**>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_capture"));
  return *place;
}
int cudaMalloc(void** place, size_t bytes) {
  if (capture()) return last_error = 900;
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
  if (capture()) return last_error = 900;  // STREAM_CAPTURE_UNSUPPORTED
  auto* room = reinterpret_cast<size_t*>(static_cast<char*>(place) - 256);
  used -= *room;
  std::memset(place, 0xFF, *room);
  std::free(room);
  return 0;
}
int cudaMallocHost(void** place, size_t bytes) { return *place = std::malloc(bytes), 0; }
int cudaFreeHost(void* place) { return std::free(place), 0; }
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
  if (capture()) return last_error = 906;
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
const char* cudaGetErrorName(int code) {
  return code == 2     ? "cudaErrorMemoryAllocation"
         : code == 901 ? "cudaErrorStreamCaptureInvalidated"
                       : "fake";
}
int cudaGetLastError() { int error = last_error; return last_error = 0, error; }
int cudaPeekAtLastError() { return last_error; }
int cudaGetDeviceCount(int* count) { return *count = number("FAKE_CUDA_COUNT", 1), 0; }
static int current = 0;
int cudaGetDevice(int* device) { return *device = current, 0; }
int cudaSetDevice(int device) { return current = device, 0; }
int cudaDeviceGetAttribute(int* value, int, int) { return *value = 1024, 0; }
int cudaGetDeviceProperties(void*, int) { return 1; }
int cudaStreamCreate(void** stream) { return *stream = new char, 0; }
int cudaStreamCreateWithFlags(void** stream, unsigned) { return *stream = nullptr, 0; }
int cudaStreamDestroy(void*) { return 0; }
int cudaStreamSynchronize(void*) {
  log_line("wait", 1);
  return capture() ? last_error = 900 : 0;
}
int cudaStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cudaStreamBeginCapture(void* stream, int mode) {
  if (!stream || capture() || mode != 2) return last_error = 900;
  capture() = new Capture{stream, {}};
  return 0;
}
int cudaStreamEndCapture(void* stream, void** graph) {
  if (!capture() || capture()->stream != stream) return last_error = 900;
  *graph = capture();
  log_line("capture", capture()->launches.size());
  capture() = nullptr;
  return last_error = number("FAKE_CUDA_CAPTURE", 0);
}
int cudaGraphInstantiate(void** handle, void* graph, unsigned long long) {
  return *handle = new Capture(*static_cast<Capture*>(graph)), 0;
}
int cudaGraphLaunch(void* handle, void* stream) {
  auto* graph = static_cast<Capture*>(handle);
  if (capture() || stream != graph->stream) return last_error = 900;
  log_line("graph", graph->launches.size());
  static auto* launch = reinterpret_cast<void (*)(const Launch*)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_launch"));
  for (const Launch& each : graph->launches) launch(&each);
  return 0;
}
int cudaGraphDestroy(void* graph) { return delete static_cast<Capture*>(graph), 0; }
int cudaGraphExecDestroy(void* handle) {
  log_line("destroy", 1);
  return delete static_cast<Capture*>(handle), 0;
}
int cudaEventCreate(void** event) { return *event = nullptr, 0; }
int cudaEventDestroy(void*) { return 0; }
int cudaEventRecord(void*, void*) { return 0; }
int cudaEventSynchronize(void*) { return 0; }
int cudaEventElapsedTime(float* ms, void*, void*) { return *ms = 1, 0; }
#endif
}
