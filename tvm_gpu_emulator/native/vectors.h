// Short vectors with the operators of Metal; CUDA's text writes one component at a time.
#pragma once

namespace emulator {

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
