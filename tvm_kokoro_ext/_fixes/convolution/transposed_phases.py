"""Transposed convolutions on CPUs without products by the zeros between the numbers.

Stock puts `stride - 1` zeros behind each number and convolves the result, so that all but one in
`stride` products along each axis are by zero. Here the outputs of each phase, which are those with
the same remainder by the stride, are an ordinary convolution with every stride-th tap (Shi et al.,
"Is the deconvolution layer the same as a convolutional layer?", 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, te, tirx, topi, tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.legalization import overriding
from tvm_kokoro_ext._fixes._shared.sums import is_for_cpu

_LAYOUTS = {
    "relax.nn.conv1d_transpose": ("NCW", "IOW"),
    "relax.nn.conv2d_transpose": ("NCHW", "IOHW"),
}


@dataclass(frozen=True)
class _Axis:
    """How a kernel moves along a spatial axis, and how far it reaches."""

    stride: int
    before: int
    after: int
    dilation: int
    extra: int
    taps: int

    @property
    def reach(self) -> int:
        """The size of the kernel with its gaps."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def shifts(self) -> int:
        """How many numbers of the tensor an output of one phase depends on."""
        return (self.reach - 1) // self.stride + 1

    @property
    def behind(self) -> int:
        """The places behind the tensor at which outputs are."""
        return (self.reach - 1 + self.extra) // self.stride

    def outputs(self, size: Any) -> Any:
        return (size - 1) * self.stride - self.before - self.after + self.reach + self.extra


def _legalize(below: Any, builder: Any, call: Any) -> Any:
    attrs = call.attrs
    x, kernel = call.args
    layouts = str(attrs.data_layout), str(attrs.kernel_layout)
    taps = [_compat.as_int(size) for size in _compat.shape_of(kernel)[2:]]
    known = layouts == _LAYOUTS[call.op.name] and str(attrs.out_layout) == layouts[0]
    strides = [int(number) for number in attrs.strides]
    if not known or None in taps or max(strides) == 1 or not is_for_cpu():
        return below(builder, call)
    padding = [int(number) for number in attrs.padding]
    rank, others = len(taps), [[int(n) for n in a] for a in (attrs.dilation, attrs.output_padding)]
    axes = [
        _Axis(*numbers)
        for numbers in zip(strides, padding[:rank], padding[rank:], *others, taps, strict=True)
    ]
    dtype, groups = _compat.dtype_of(call), int(attrs.groups)
    return builder.call_te(
        lambda data, weight: _transposed(data, weight, axes, groups, dtype),
        x,
        kernel,
        primfunc_name_hint=call.op.name.rpartition(".")[2],
    )


def _transposed(data: Any, weight: Any, axes: Sequence[_Axis], groups: int, dtype: str) -> Any:
    rank, sizes = len(axes), list(data.shape[2:])
    inputs, outputs = data.shape[1] // groups, weight.shape[1]
    padded = topi.nn.pad(
        data,
        [0, 0, *(axis.shifts - 1 for axis in axes)],
        [0, 0, *(axis.behind for axis in axes)],
    )

    def tap(out: Any, channel: Any, *at: Any) -> Any:
        """The kernel by output, input, phase and shift, with 0 behind its end and in its gaps."""
        places = [
            shift * axis.stride + phase
            for phase, shift, axis in zip(at[:rank], at[rank:], axes, strict=True)
        ]
        inside = [
            tirx.all(place < axis.reach, tirx.floormod(place, axis.dilation) == 0)
            for place, axis in zip(places, axes, strict=True)
        ]
        own = [
            tirx.floordiv(place, axis.dilation) for place, axis in zip(places, axes, strict=True)
        ]
        value = tirx.Cast(dtype, weight(channel, out, *own))
        return tirx.if_then_else(tirx.all(*inside), value, tirx.const(0, dtype))

    phases, shifts = [axis.stride for axis in axes], [axis.shifts for axis in axes]
    taps = te.compute((outputs, data.shape[1], *phases, *shifts), tap, name="taps")
    channel = te.reduce_axis((0, inputs), name="channel")
    moved = [te.reduce_axis((0, axis.shifts), name="shift") for axis in axes]

    def product(batch: Any, out: Any, *at: Any) -> Any:
        source = tirx.floordiv(out, outputs) * inputs + channel
        places = [
            at_axis - shift + axis.shifts - 1
            for at_axis, shift, axis in zip(at[rank:], moved, axes, strict=True)
        ]
        number = tirx.Cast(dtype, padded(batch, source, *places))
        own = taps(tirx.floormod(out, outputs), source, *at[:rank], *moved)
        return te.sum(number * own, axis=[channel, *moved])

    wide = [size + axis.behind for size, axis in zip(sizes, axes, strict=True)]
    shape = (data.shape[0], outputs * groups, *phases, *wide)
    products = te.compute(shape, product, name="phases")

    def element(batch: Any, out: Any, *at: Any) -> Any:
        places = [i + axis.before for i, axis in zip(at, axes, strict=True)]
        pairs = zip(places, axes, strict=True)
        own = [(tirx.floormod(p, axis.stride), tirx.floordiv(p, axis.stride)) for p, axis in pairs]
        return products(batch, out, *(r for r, _ in own), *(q for _, q in own))

    ends = [axis.outputs(size) for size, axis in zip(sizes, axes, strict=True)]
    return te.compute((data.shape[0], outputs * groups, *ends), element, name="conv_transpose")


@_probe.wrong
def _multiplies_zeros() -> bool:
    """Whether the kernel of a stride of 4 reads a tensor with zeros between its numbers."""
    x = relax.Var("x", _compat.tensor_type([1, 1, 5], "float32"))
    weight = relax.Var("weight", _compat.tensor_type([1, 1, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, weight]):
        made = relax.op.nn.conv1d_transpose(x, weight, strides=4)
        builder.emit_func_output(builder.emit(made))
    with tvm.target.Target("llvm"):
        module = relax.transform.LegalizeOps()(builder.get())
    kernels = [str(f) for name, f in module.functions_items() if name.name_hint != "main"]
    return any("dilate" in kernel for kernel in kernels)


FIX = Fix(
    id="transposed_phases",
    what="transposed convolutions multiply the zeros between the numbers, stride times the work",
    op="relax.nn.conv1d_transpose, relax.nn.conv2d_transpose",
    affected="",
    install=overriding(dict.fromkeys(_LAYOUTS, _legalize)),
    probe=_multiplies_zeros,
    needs_torch=False,
)
