// Included before a unit that is linked for its functions alone: what it registers is registered
// by the wheel's library already.
#include <tvm/ffi/object.h>
#undef TVM_FFI_STATIC_INIT_BLOCK_DEF_
#define TVM_FFI_STATIC_INIT_BLOCK_DEF_(name) [[maybe_unused]] static void name()
