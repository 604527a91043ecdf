/* Runs compiled kernels on request: a process for Linux on aarch64 that needs no C library.
 *
 * It reads requests from standard input and answers each on standard output, until the input ends.
 * A request is three int32 (kernel, threads, number of arguments) and the arguments: an int64 0 and an
 * int64 value, or an int64 1, dtype code, dtype bits, number of dimensions, the extents and the bytes.
 * An answer is an int32: 0 and the bytes of every tensor, or the length of a message and the message.
 *
 * Every tensor lies between two stretches of a pattern, which must be whole after the call. Tasks of
 * a parallel loop run one after the other.
 */
#include <tvm/ffi/c_api.h>

enum { READ = 63, WRITE = 64, EXIT = 93, MMAP = 222 };
enum { MAX_ARGUMENTS = 32, MAX_DIMENSIONS = 8, MARGIN = 256, CPU = 1 };
#define MEMORY ((int64_t)1 << 30)
#define PATTERN 0x5a

static int64_t system_call(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                           int64_t f) {
  register int64_t x0 __asm__("x0") = a;
  register int64_t x1 __asm__("x1") = b;
  register int64_t x2 __asm__("x2") = c;
  register int64_t x3 __asm__("x3") = d;
  register int64_t x4 __asm__("x4") = e;
  register int64_t x5 __asm__("x5") = f;
  register int64_t x8 __asm__("x8") = number;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                   : "memory");
  return x0;
}

static _Noreturn void leave(int status) {
  for (;;) system_call(EXIT, status, 0, 0, 0, 0, 0);
}

/* What the compiler takes for granted. */
void* memset(void* to, int value, size_t count) {
  for (size_t i = 0; i < count; ++i) ((volatile char*)to)[i] = (char)value;
  return to;
}

void* memcpy(void* to, const void* from, size_t count) {
  for (size_t i = 0; i < count; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
  return to;
}

static void read_all(void* to, int64_t count) {
  for (int64_t done = 0; done < count;) {
    int64_t got = system_call(READ, 0, (int64_t)to + done, count - done, 0, 0, 0);
    if (got <= 0) leave(done || got ? 2 : 0);
    done += got;
  }
}

static void write_all(const void* from, int64_t count) {
  for (int64_t done = 0; done < count;) {
    int64_t got = system_call(WRITE, 1, (int64_t)from + done, count - done, 0, 0, 0);
    if (got <= 0) leave(3);
    done += got;
  }
}

/* Memory: a stack of blocks that each request starts anew. */
static char* memory;
static int64_t used;

static void* take(int64_t bytes) {
  char* block = memory + used;
  used += (bytes + 63) / 64 * 64;
  if (used > MEMORY) leave(4);
  return block;
}

/* What the kernels ask of the TVM runtime. */
static char message[1024];
static int64_t message_length;
static int32_t threads;

static void say(const char* words) {
  while (*words && message_length < (int64_t)sizeof message) message[message_length++] = *words++;
}

void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count) {
  say(kind);
  say(": ");
  for (int32_t i = 0; i < count; ++i)
    if (parts[i]) say(parts[i]);
}

static void* allocate(int32_t device, int32_t id, uint64_t bytes, int32_t code, int32_t bits) {
  (void)device, (void)id, (void)code, (void)bits;
  return take((int64_t)bytes);
}

static int32_t release(int32_t device, int32_t id, void* block) {
  (void)device, (void)id, (void)block;
  return 0;
}

typedef struct {
  void* sync_handle;
  int32_t num_task;
} Group;

static int32_t launch(int32_t (*task)(int32_t, Group*, void*), void* data, int32_t wanted) {
  Group group = {0, wanted ? wanted : threads};
  for (int32_t i = 0; i < group.num_task; ++i) {
    int32_t status = task(i, &group, data);
    if (status) return status;
  }
  return 0;
}

/* The library's own variables, for its loader to fill; there are those that its kernels need. */
__attribute__((weak)) void* __TVMBackendAllocWorkspace;
__attribute__((weak)) void* __TVMBackendFreeWorkspace;
__attribute__((weak)) void* __TVMBackendParallelLaunch;

/* KERNELS has K(name) for each. */
#define K(name) int __tvm_ffi_##name(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
#include KERNELS
#undef K
#define K(name) __tvm_ffi_##name,
static const TVMFFISafeCallType kernels[] = {
#include KERNELS
};

static DLTensor tensors[MAX_ARGUMENTS];
static int64_t sizes[MAX_ARGUMENTS];
static TVMFFIAny arguments[MAX_ARGUMENTS];

static void read_argument(int32_t index) {
  int64_t words[4];
  read_all(words, 16);
  memset(&arguments[index], 0, sizeof arguments[index]);
  if (words[0] == 0) {
    arguments[index].type_index = kTVMFFIInt;
    arguments[index].v_int64 = words[1];
    return;
  }
  read_all(words + 2, 16);
  if (words[3] > MAX_DIMENSIONS) leave(5);
  DLTensor* tensor = &tensors[index];
  memset(tensor, 0, sizeof *tensor);
  tensor->device.device_type = CPU;
  tensor->ndim = (int32_t)words[3];
  tensor->dtype.code = (uint8_t)words[1];
  tensor->dtype.bits = (uint8_t)words[2];
  tensor->dtype.lanes = 1;
  tensor->shape = take(8 * MAX_DIMENSIONS);
  tensor->strides = take(8 * MAX_DIMENSIONS);
  read_all(tensor->shape, 8 * words[3]);
  int64_t count = 1;
  for (int32_t axis = tensor->ndim - 1; axis >= 0; --axis) {
    tensor->strides[axis] = count;
    count *= tensor->shape[axis];
  }
  sizes[index] = count * words[2] / 8;
  char* block = take(sizes[index] + 2 * MARGIN);
  memset(block, PATTERN, MARGIN);
  read_all(block + MARGIN, sizes[index]);
  memset(block + MARGIN + sizes[index], PATTERN, MARGIN);
  tensor->data = block + MARGIN;
  arguments[index].type_index = kTVMFFIDLTensorPtr;
  arguments[index].v_ptr = tensor;
}

static void check_margins(int32_t index) {
  const char* data = tensors[index].data;
  for (int64_t i = 0; i < MARGIN; ++i) {
    if (data[i - MARGIN] == PATTERN && data[sizes[index] + i] == PATTERN) continue;
    char number[3] = {(char)('0' + index / 10), (char)('0' + index % 10), 0};
    say("a write beside argument ");
    say(number);
    return;
  }
}

static void serve(void) {
  for (;;) {
    int32_t request[3];
    used = message_length = 0;
    read_all(request, sizeof request);
    if (request[0] >= (int32_t)(sizeof kernels / sizeof *kernels)) leave(6);
    if (request[2] > MAX_ARGUMENTS) leave(7);
    threads = request[1];
    for (int32_t i = 0; i < request[2]; ++i) read_argument(i);
    TVMFFIAny result = {0};
    int failed = kernels[request[0]](0, arguments, request[2], &result);
    if (failed && message_length == 0) say("a kernel failed and said nothing");
    for (int32_t i = 0; i < request[2]; ++i)
      if (arguments[i].type_index == kTVMFFIDLTensorPtr) check_margins(i);
    int32_t status = (int32_t)message_length;
    write_all(&status, sizeof status);
    if (status) write_all(message, message_length);
    for (int32_t i = 0; i < request[2] && !status; ++i)
      if (arguments[i].type_index == kTVMFFIDLTensorPtr) write_all(tensors[i].data, sizes[i]);
  }
}

void _start(void) {
  enum { READABLE_WRITABLE = 3, PRIVATE_ANONYMOUS = 0x22 };
  int64_t at = system_call(MMAP, 0, MEMORY, READABLE_WRITABLE, PRIVATE_ANONYMOUS, -1, 0);
  if (at < 0) leave(8);
  memory = (char*)at;
  __TVMBackendAllocWorkspace = (void*)allocate;
  __TVMBackendFreeWorkspace = (void*)release;
  __TVMBackendParallelLaunch = (void*)launch;
  serve();
}
