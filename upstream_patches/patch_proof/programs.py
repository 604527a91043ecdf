"""Import small programs that stock TVM imports correctly, and print their modules as JSON.

Patches must not change these modules. Run this with the tree to examine on PYTHONPATH.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
import tvm_ffi
from torch import nn
from torch.export import Dim, export
from torch.nn import functional
from tvm.relax.frontend.torch import from_exported_program


class Program(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


X, Y, IMAGE = torch.ones(3, 4), torch.ones(3, 4), torch.ones(1, 4, 8, 8)
ROWS, INTEGERS = torch.tensor([0, 2]), torch.arange(12).reshape(3, 4)
WEIGHT, KERNEL = torch.ones(5, 4), torch.ones(6, 4, 3, 3)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "add": (lambda x, y: x + y, (X, Y)),
    "add number": (lambda x: x + 1.5, (X,)),
    "add integer number": (lambda x: x + 2, (INTEGERS,)),
    "add dtypes": (lambda x, y: x + y, (X, INTEGERS)),
    "sub": (lambda x, y: x - y, (X, Y)),
    "rsub": (lambda x: 1 - x, (X,)),
    "mul": (lambda x: x * 0.5, (X,)),
    "div": (lambda x, y: x / y, (X, Y)),
    "div number": (lambda x: x / 2, (X,)),
    "floor divide": (lambda x: x // 2.5, (X,)),
    "remainder": (lambda x: x % 3, (INTEGERS,)),
    "pow": (lambda x: x**2, (X,)),
    "integer pow": (lambda x: x**2, (INTEGERS,)),
    "compare": (lambda x: x > 0.5, (X,)),
    "compare integers": (lambda x: x >= 2, (INTEGERS,)),
    "logical": (lambda x, y: (x > 0) & (y < 1), (X, Y)),
    "maximum": (torch.maximum, (X, Y)),
    "clamp": (lambda x: x.clamp(-1, 1), (X,)),
    "clamp from below": (lambda x: x.clamp(min=0.5), (X,)),
    "clamp integers": (lambda x: x.clamp(1, 5), (INTEGERS,)),
    "where": (lambda x, y: torch.where(x > 0, x, y), (X, Y)),
    "masked fill": (lambda x: x.masked_fill(x > 0, -1.0), (X,)),
    "mean": (lambda x: x.mean(-1, keepdim=True), (X,)),
    "sum": (lambda x: x.sum(0), (X,)),
    "var": (lambda x: x.var(-1), (X,)),
    "argmax": (lambda x: x.argmax(-1), (X,)),
    "cumsum": (lambda x: x.cumsum(0), (X,)),
    "softmax": (lambda x: x.softmax(-1), (X,)),
    "gelu": (functional.gelu, (X,)),
    "silu": (functional.silu, (X,)),
    "leaky relu": (lambda x: functional.leaky_relu(x, 0.1), (X,)),
    "matmul": (lambda x, w: x @ w.T, (X, WEIGHT)),
    "linear": (functional.linear, (X, WEIGHT, torch.ones(5))),
    "bmm": (torch.bmm, (torch.ones(2, 3, 4), torch.ones(2, 4, 5))),
    "baddbmm": (torch.baddbmm, (torch.ones(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5))),
    "addmm": (lambda x, w, b: torch.addmm(b, x, w.T, alpha=2), (X, WEIGHT, torch.ones(5))),
    "conv1d": (functional.conv1d, (IMAGE[:, :, 0], KERNEL[:, :, 0])),
    "conv2d": (lambda x, w: functional.conv2d(x, w, torch.ones(6), 2, 1), (IMAGE, KERNEL)),
    "conv transpose": (functional.conv_transpose1d, (IMAGE[:, :, 0], torch.ones(4, 6, 3))),
    "max pool": (lambda x: functional.max_pool2d(x, 2), (IMAGE,)),
    "average pool": (lambda x: functional.avg_pool2d(x, 2), (IMAGE,)),
    "layer norm": (lambda x, w: functional.layer_norm(x, (4,), w[0], w[1]), (X, WEIGHT)),
    "layer norm alone": (lambda x: functional.layer_norm(x, (4,)), (X,)),
    "group norm": (lambda x, w: functional.group_norm(x, 2, w[0], w[1]), (IMAGE, WEIGHT)),
    # PyTorch decomposes scaled_dot_product_attention to this, and to copies that patch 0162 omits.
    "attention": (
        lambda q, k, v: functional.softmax(q.bmm(k.mT) * 0.5, -1).bmm(v),
        (torch.ones(2, 3, 4),) * 3,
    ),
    "embedding": (functional.embedding, (ROWS, WEIGHT)),
    "select": (lambda x: x[:, 1], (X,)),
    "slice": (lambda x: x[:, 1:3], (X,)),
    "index put": (
        lambda x, i: torch.ops.aten.index_put(x, [i, i], torch.ones(2)),
        (X, ROWS),
    ),
    "slice scatter": (lambda x: torch.slice_scatter(x, torch.zeros(3, 2), 1, 1, 3), (X,)),
    "gather": (lambda x, i: x.gather(0, i[:, None]), (X, ROWS)),
    "pair of indices": (lambda x, i: x[i, i], (X, ROWS)),
    "squeeze": (lambda x: x[:, :1].squeeze(), (X,)),
    "squeeze axis": (lambda x: x[:, :1].squeeze(1), (X,)),
    "squeeze no axis": (lambda x: x.squeeze(1), (X,)),
    "reshape": (lambda x: x.reshape(2, -1), (X,)),
    "permute": (lambda x: x.permute(1, 0), (X,)),
    "cat": (lambda x, y: torch.cat([x, y], 1), (X, Y)),
    "stack": (lambda x, y: torch.stack([x, y]), (X, Y)),
    "split": (lambda x: x.split(2, 1), (X,)),
    "expand": (lambda x: x[:, None].expand(-1, 2, 4), (X,)),
    "pad": (lambda x: functional.pad(x, (1, 2)), (X,)),
    "flip": (lambda x: x.flip(0), (X,)),
    "full": (lambda x: torch.full_like(x, 2.0), (X,)),
    "arange": (lambda x: torch.arange(4) + x, (X,)),
    "cast": (lambda x: x.to(torch.int64), (X,)),
    "cond": (lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), (X,)),
}

# Programs that are also imported with a dynamic first axis.
DYNAMIC = (
    "add", "mul", "clamp", "where", "mean", "softmax", "linear", "layer norm",
    "select", "slice", "permute", "cat", "expand", "pad", "cast",
)  # fmt: skip


def imported(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], dynamic: bool) -> str:
    """The module that TVM imports, as text, with a hash that includes its constants."""
    shapes = None
    if dynamic:
        n = Dim("n", min=2, max=64)
        shapes = (tuple({0: n} if x.shape[0] == 3 else None for x in inputs),)
    program = export(Program(function), inputs, dynamic_shapes=shapes)
    module = from_exported_program(program)
    return f"{module.script()}\n# {tvm_ffi.structural_hash(module)}"


def main() -> None:
    modules = {name: imported(*case, False) for name, case in FUNCTIONS.items()}
    modules |= {f"{name}, dynamic": imported(*FUNCTIONS[name], True) for name in DYNAMIC}
    json.dump(modules, sys.stdout)


if __name__ == "__main__":
    main()
