// relax::reshape, which the wheel's library keeps to itself, by way of the global function that it
// offers to Python.
#include <tvm/ffi/function.h>

#include "relax/op/tensor/manipulate.h"

namespace tvm {
namespace relax {

Expr reshape(Expr x, ffi::Variant<Expr, ffi::Array<PrimExpr>> shape) {
  static const ffi::Function make = ffi::Function::GetGlobalRequired("relax.op.reshape");
  return make(x, shape).cast<Expr>();
}

}  // namespace relax
}  // namespace tvm
