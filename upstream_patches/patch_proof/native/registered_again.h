// Included before a patched unit: its global functions take the place of the wheel's, where a
// second registration of a name is an error otherwise.
#include <tvm/ffi/c_api.h>
#define TVMFFIFunctionSetGlobalFromMethodInfo(info, allow_override) \
  TVMFFIFunctionSetGlobalFromMethodInfo(info, 1)
