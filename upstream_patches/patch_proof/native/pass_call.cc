// The call of a pass, which the wheel's library keeps to itself, by way of the global function that
// it offers to Python.
#include <tvm/ffi/function.h>
#include <tvm/ir/transform.h>

namespace tvm {
namespace transform {

IRModule Pass::operator()(IRModule mod) const {
  static const ffi::Function run = ffi::Function::GetGlobalRequired("transform.RunPass");
  return run(*this, mod).cast<IRModule>();
}

}  // namespace transform
}  // namespace tvm
