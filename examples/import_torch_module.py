"""Import a PyTorch module with a symbolic length, and compare it with PyTorch at two lengths.

    python examples/import_torch_module.py        # needs the extra `build`

Stock TVM computes the variance of an instance norm in one pass, which cancels where the mean is
large, and reads the index -1 outside of the row. TVM_KOKORO_EXT_DISABLE=all shows it.
"""

import numpy as np
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

import tvm_kokoro_ext  # importing the extension applies its fixes


class LastStep(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(8, 16, 3, padding=1)
        self.norm = torch.nn.InstanceNorm1d(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x) + 1000)[:, :, torch.tensor([-1])]


module = LastStep().eval()
shapes = {"x": {2: torch.export.Dim("length", min=2, max=1024)}}
program = torch.export.export(module, (torch.zeros(1, 8, 5),), dynamic_shapes=shapes)
executable = tvm.compile(from_exported_program(program), target=tvm.target.Target("llvm"))
machine = relax.VirtualMachine(executable, tvm.cpu())
for size in (7, 300):
    x = torch.randn(1, 8, size)
    compiled = machine["main"](tvm.runtime.tensor(x.numpy()))[0].numpy()
    exact = module.double()(x.double()).detach().numpy()
    print(f"length {size}: largest error {np.abs(compiled - exact).max():.1e}")
states = [fix.state.value for fix in tvm_kokoro_ext.status()]
print(f"fixes applied: {states.count('applied')} of {len(states)}")
