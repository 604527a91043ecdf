"""Compile a PyTorch module to CUDA and run the generated text on this machine's CPU, checked.

    python examples/emulate_cuda.py        # needs the extra `build` and g++, no GPU

The emulator names races, accesses out of bounds and barriers that diverge.
"""

import numpy as np
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program
from tvm.s_tir import dlight

import tvm_kokoro_ext  # noqa: F401 -- importing the extension applies its fixes
from tvm_gpu_emulator import emulate

module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16)).eval()
rows = torch.export.Dim("rows", min=2, max=1024)
program = torch.export.export(module, (torch.zeros(4, 8),), dynamic_shapes=({0: rows},))

target = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
imported = from_exported_program(program)
with target:
    scheduled = tvm.ir.transform.Sequential(
        [relax.transform.LegalizeOps(), dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())]
    )(imported)

executable = emulate(scheduled, target, check=True)
for count in (5, 33):
    x = torch.randn(count, 8)
    computed = executable["main"](x.numpy())[0].numpy()
    error = np.abs(computed - module(x).detach().numpy()).max()
    print(f"{count} rows: largest error {error:.1e}")
for name, launch in executable.launches.items():
    print(f"{name}: launched {launch.count} times, grid {launch.grid}, block {launch.block}")
