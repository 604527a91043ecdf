"""Rules for layers on rows (linear, layer norm) and for the custom operators."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax, tirx
from tvm_ffi import structural_equal

from .channels_last import Value, dimensions, is_transpose
from .custom_operators import SourceCall
from .program_lowering import FunctionLowering


def _over_rows(
    lowering: FunctionLowering, kernel: Callable[..., list[relax.Expr]], *tensors: relax.Expr
) -> list[relax.Expr]:
    """The results of kernel(*rows [M, K], count=M) for rows of tensors [..., K] of one shape."""
    *leading, width = dimensions(tensors[0])
    if len(leading) == 1:
        return kernel(*tensors, count=leading[0])
    count = leading[0]
    for extent in leading[1:]:
        count = count * extent
    rows = [lowering.emit(relax.op.reshape(tensor, [count, width])) for tensor in tensors]
    return [
        lowering.emit(relax.op.reshape(flat, [*leading, dimensions(flat)[-1]]))
        for flat in kernel(*rows, count=count)
    ]


def linear(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    """PyTorch's linear layer, which is imported as `matmul(x, permute_dims(parameter))`."""
    data, transposed = call.args
    permute = lowering.definition(transposed, "relax.permute_dims")
    if permute is None or str(data.ty.dtype) != "float32" or int(data.ty.ndim) < 2:
        return None
    name = lowering.weight(permute.args[0])
    if name is None or lowering.parameters[name].ndim != 2 or not is_transpose(permute.attrs.axes):
        return None
    out_features, in_features = lowering.parameters[name].shape
    epilogue = lowering.epilogue(variable, out_features, column=False)
    kernel = lowering.backend.linear(in_features, out_features, epilogue.bias is not None)
    weights = lowering.weights(kernel, name, epilogue.bias)

    def product(rows: relax.Expr, count: tirx.Expr) -> list[relax.Expr]:
        return [lowering.call(kernel, [rows, *weights], [count, out_features])]

    (result,) = _over_rows(lowering, product, lowering.first(data))
    return lowering.finish(epilogue, Value(first=result))


def layer_norm(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value | None:
    """A layer norm over the last axis, of a tensor or of the sum of two tensors of one shape.

    Where a later norm adds the result to something, it adds what rounding took from it as well: the
    residual path of a transformer would otherwise be rounded twice a layer.
    """
    data, weight, bias = call.args
    last = int(data.ty.ndim) - 1
    axes = [int(axis) % (last + 1) for axis in call.attrs.axes]
    if str(data.ty.dtype) != "float32" or axes != [last]:
        return None
    total = lowering.definition(data, "relax.add")
    if total is not None and all(
        isinstance(term, relax.Var) and structural_equal(term.ty, data.ty) for term in total.args
    ):
        terms = list(total.args)
    else:
        terms = [data]
    tensors = [lowering.first(term) for term in terms]
    roundings = [lowering.value(term).rounding for term in terms]
    tensors += [rounding for rounding in roundings if rounding is not None]
    features = int(dimensions(tensors[0])[-1])
    keeps = lowering.backend.keeps_rounding and _is_added_for_a_norm(lowering, variable)
    kernel = lowering.backend.layer_norm(
        features, float(call.attrs.epsilon), len(tensors), rounding=keeps
    )
    vectors = [lowering.first(weight), lowering.first(bias)]

    def normalized(*rows: relax.Expr, count: tirx.Expr) -> list[relax.Expr]:
        shapes = [[count, features]] * (1 + keeps)
        results = lowering.call(kernel, [*rows, *vectors], *shapes)
        if not keeps:
            return [results]
        return [lowering.emit(relax.TupleGetItem(results, i)) for i in range(2)]

    result, *rounding = _over_rows(lowering, normalized, *tensors)
    return Value(first=result, rounding=rounding[0] if rounding else None)


def _is_added_for_a_norm(lowering: FunctionLowering, variable: relax.Var) -> bool:
    """Whether a layer norm reads a sum with `variable` in it."""
    return any(
        lowering.definition(user, "relax.add") is not None
        and any(
            lowering.definition(norm, "relax.nn.layer_norm") is not None
            for norm in lowering.users(user)
        )
        for user in lowering.users(variable)
    )


def lstm_recurrence(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    """The recurrence of a bidirectional LSTM."""
    gates, recurrent, lengths = call.args[1]
    name = lowering.weight(recurrent)
    if name is None:
        return None
    hidden = lowering.parameters[name].shape[2]
    rows = lowering.first(gates)
    batch, steps, _ = dimensions(rows)
    kernel = lowering.backend.lstm_recurrence(hidden)
    arguments = [rows, lowering.packed(kernel, name), lowering.first(lengths)]
    return Value(first=lowering.call(kernel, arguments, [batch, steps, 2 * hidden]))


def attention(lowering: FunctionLowering, _variable: relax.Var, call: relax.Call) -> Value:
    """Masked attention over query, key and value [B, n, heads * size]."""
    *operands, heads_shape = call.args[1]
    heads, shape = int(heads_shape.values[0]), dimensions(operands[0])
    kernel = lowering.backend.attention(heads, int(shape[-1]) // heads)
    arguments = [lowering.first(operand) for operand in operands]
    return Value(first=lowering.call(kernel, arguments, shape))


def harmonic_source(
    lowering: FunctionLowering, _variable: relax.Var, call: relax.Call
) -> Value | None:
    """The harmonic source and its spectrum, of constants that the kernels support."""
    source = SourceCall.of(list(call.args[1]))
    names = [lowering.weight(each) for each in (source.weight, source.bias, source.basis)]
    if None in names or not source.transform.fits(source.source):
        return None
    kernels = lowering.backend.harmonic_source(source.source, source.transform)
    mix = lowering.packed(kernels.excitation, *names[:2])
    basis = lowering.packed(kernels.spectrum, names[2])
    f0, noise = lowering.first(source.f0), lowering.first(source.noise)
    shape = [1, source.blocks, source.source.harmonics]
    phases: list[relax.Expr] = []
    for kernel in kernels.phases:
        read = phases[-1:] or [f0]
        phases.append(lowering.call(kernel, read, shape, dtype=kernels.dtype))
    wave = lowering.call(
        kernels.excitation,
        [f0, noise, *phases, mix],
        [1, source.blocks * source.source.block],
        dtype=kernels.dtype,
    )
    return Value(first=lowering.call(kernels.spectrum, [wave, basis], source.spectrum_shape))


def standard_normals(lowering: FunctionLowering, variable: relax.Var, call: relax.Call) -> Value:
    """Standard normals [1, rows * t, columns] of a key."""
    frames, key, row = call.args[1]
    shape = dimensions(variable)
    rows, columns = (int(extent) for extent in row.values)
    kernel = lowering.backend.standard_normals((rows, columns))
    return Value(first=lowering.call(kernel, [lowering.first(frames), lowering.first(key)], shape))
