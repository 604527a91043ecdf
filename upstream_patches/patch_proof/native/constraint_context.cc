// The two functions of ConstraintContext, which the wheel's library keeps to itself, by way of the
// global function that it offers to Python.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>

namespace tvm {
namespace arith {

void ConstraintContext::EnterWithScope() {
  static const ffi::Function enter =
      ffi::Function::GetGlobalRequired("arith.AnalyzerEnterConstraintContext");
  ffi::Function leave = enter(analyzer_, constraint_).cast<ffi::Function>();
  recovery_functions_.push_back([leave]() { leave(); });
}

void ConstraintContext::ExitWithScope() {
  while (!recovery_functions_.empty()) {
    recovery_functions_.back()();
    recovery_functions_.pop_back();
  }
}

}  // namespace arith
}  // namespace tvm
