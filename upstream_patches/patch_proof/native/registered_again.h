// Included before a patched unit: its global functions take the place of the wheel's, where a
// second registration of a name is an error otherwise. Its types stay those of the wheel.
#include <tvm/ffi/c_api.h>
#define TVMFFIFunctionSetGlobalFromMethodInfo(info, allow_override) \
  TVMFFIFunctionSetGlobalFromMethodInfo(info, 1)
#include <tvm/ffi/reflection/registry.h>

namespace tvm {
namespace ffi {
namespace reflection {

template <typename Type>
struct RegisteredType {
  template <typename... Arguments>
  explicit RegisteredType(Arguments&&...) {}
  template <typename... Arguments>
  RegisteredType& def(Arguments&&...) { return *this; }
  template <typename... Arguments>
  RegisteredType& def_static(Arguments&&...) { return *this; }
  template <typename... Arguments>
  RegisteredType& def_ro(Arguments&&...) { return *this; }
  template <typename... Arguments>
  RegisteredType& def_rw(Arguments&&...) { return *this; }
};

}  // namespace reflection
}  // namespace ffi
}  // namespace tvm

#define ObjectDef RegisteredType
