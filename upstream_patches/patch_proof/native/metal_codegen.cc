// Registers the code generator for Metal, which its own unit leaves to that of the target's kind.
namespace tvm {
namespace codegen {

void RegisterMetalCodegen();

namespace {
[[maybe_unused]] const bool registered = (RegisterMetalCodegen(), true);
}  // namespace

}  // namespace codegen
}  // namespace tvm
