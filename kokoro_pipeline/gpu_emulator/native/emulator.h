// What a kernel compiled for the CPU and the scheduler that runs its threads know of each other.
#pragma once
#include <stddef.h>
#include <stdint.h>

// What the emulator itself reads and writes is none of the checker's business.
#define EMULATOR_OWN __attribute__((no_sanitize_thread))

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
  void* data;  // null: the scheduler places it (checked builds, dynamic shared memory)
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
};

extern "C" {
int emulator_launch(const Kernel* kernel, const Value* values, int count);
void* emulator_shared(int index);
void emulator_barrier(int line);
// Threads of a warp meet: posts `value`, gives every lane's value and which lanes came.
struct Exchange {
  const uint64_t* values;
  uint32_t lanes;
};
Exchange emulator_exchange(uint64_t value, uint32_t expected, int line, bool synchronizes_memory);
unsigned emulator_lane();
uint64_t emulator_absent_lane(int source, int line);
}

template <class T>
inline uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "a shuffled value has at most 64 bits");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
inline T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

enum class Shuffle { index, up, down, exclusive_or };

template <class T>
EMULATOR_OWN inline T shuffle(Shuffle mode, uint32_t expected, T value, int operand, int width, int line) {
  Exchange all = emulator_exchange(to_bits(value), expected, line, false);
  int lane = static_cast<int>(emulator_lane());
  int first = lane & ~(width - 1);
  int source = mode == Shuffle::index ? first + (operand & (width - 1))
               : mode == Shuffle::up  ? lane - operand
               : mode == Shuffle::down ? lane + operand
                                       : lane ^ operand;
  if (mode == Shuffle::exclusive_or ? source >= first + width
                                    : source < first || source >= first + width)
    return value;
  if (!(all.lanes >> source & 1)) return from_bits<T>(emulator_absent_lane(source, line));
  return from_bits<T>(all.values[source]);
}

template <class T, int N>
struct Vector;

#ifdef EMULATOR_METAL
#define EMULATOR_VECTOR3_ALIGN(T) (4 * sizeof(T))
#else
#define EMULATOR_VECTOR3_ALIGN(T) sizeof(T)
#endif

// Components are copied one by one, so that a conversion narrows or widens each of them.
template <class T>
struct alignas(2 * sizeof(T)) Vector<T, 2> {
  T x, y;
  Vector() = default;
  constexpr Vector(T a) : x(a), y(a) {}
  constexpr Vector(T a, T b) : x(a), y(b) {}
  template <class U>
  explicit constexpr Vector(Vector<U, 2> v) : x(T(v.x)), y(T(v.y)) {}
  T& operator[](int i) { return (&x)[i]; }
  const T& operator[](int i) const { return (&x)[i]; }
};
template <class T>
struct alignas(EMULATOR_VECTOR3_ALIGN(T)) Vector<T, 3> {
  T x, y, z;
  Vector() = default;
  constexpr Vector(T a) : x(a), y(a), z(a) {}
  constexpr Vector(T a, T b, T c) : x(a), y(b), z(c) {}
  template <class U>
  explicit constexpr Vector(Vector<U, 3> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)) {}
  T& operator[](int i) { return (&x)[i]; }
  const T& operator[](int i) const { return (&x)[i]; }
};
template <class T>
struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) Vector<T, 4> {
  T x, y, z, w;
  Vector() = default;
  constexpr Vector(T a) : x(a), y(a), z(a), w(a) {}
  constexpr Vector(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  template <class U>
  explicit constexpr Vector(Vector<U, 4> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)), w(T(v.w)) {}
  T& operator[](int i) { return (&x)[i]; }
  const T& operator[](int i) const { return (&x)[i]; }
};

template <class T>
struct Same {
  typedef T type;
};

#define EMULATOR_ARITHMETIC(op)                                                                  \
  template <class T, int N>                                                                      \
  inline Vector<T, N> operator op(Vector<T, N> a, Vector<T, N> b) {                              \
    Vector<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r[i] = static_cast<T>(a[i] op b[i]);                             \
    return r;                                                                                    \
  }                                                                                              \
  template <class T, int N>                                                                      \
  inline Vector<T, N> operator op(Vector<T, N> a, typename Same<T>::type b) {                    \
    return a op Vector<T, N>(b);                                                                 \
  }                                                                                              \
  template <class T, int N>                                                                      \
  inline Vector<T, N> operator op(typename Same<T>::type a, Vector<T, N> b) {                    \
    return Vector<T, N>(a) op b;                                                                 \
  }                                                                                              \
  template <class T, int N>                                                                      \
  inline Vector<T, N>& operator op##=(Vector<T, N>& a, Vector<T, N> b) {                         \
    return a = a op b;                                                                           \
  }
EMULATOR_ARITHMETIC(+)
EMULATOR_ARITHMETIC(-)
EMULATOR_ARITHMETIC(*)
EMULATOR_ARITHMETIC(/)
EMULATOR_ARITHMETIC(%)
EMULATOR_ARITHMETIC(&)
EMULATOR_ARITHMETIC(|)
EMULATOR_ARITHMETIC(^)
EMULATOR_ARITHMETIC(<<)
EMULATOR_ARITHMETIC(>>)
#undef EMULATOR_ARITHMETIC

#define EMULATOR_COMPARISON(op)                                            \
  template <class T, int N>                                                \
  inline Vector<bool, N> operator op(Vector<T, N> a, Vector<T, N> b) {     \
    Vector<bool, N> r;                                                     \
    for (int i = 0; i < N; ++i) r[i] = a[i] op b[i];                       \
    return r;                                                              \
  }
EMULATOR_COMPARISON(<)
EMULATOR_COMPARISON(<=)
EMULATOR_COMPARISON(>)
EMULATOR_COMPARISON(>=)
EMULATOR_COMPARISON(==)
EMULATOR_COMPARISON(!=)
EMULATOR_COMPARISON(&&)
EMULATOR_COMPARISON(||)
#undef EMULATOR_COMPARISON

template <class T, int N>
inline Vector<T, N> operator-(Vector<T, N> a) {
  return Vector<T, N>(T(0)) - a;
}
template <int N>
inline Vector<bool, N> operator!(Vector<bool, N> a) {
  Vector<bool, N> r;
  for (int i = 0; i < N; ++i) r[i] = !a[i];
  return r;
}

}  // namespace emulator

#define EMULATOR_VECTORS(T, name)          \
  typedef emulator::Vector<T, 2> name##2;  \
  typedef emulator::Vector<T, 3> name##3;  \
  typedef emulator::Vector<T, 4> name##4;
