"""Inputs, dtypes and modes that cannot be compiled: left out where nothing is lost, or refused."""

import numpy as np
import pytest
import torch
from frontend_cases import compile_module, import_program

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def export(function, *example, **options):
    return torch.export.export(Function(function), example, **options)


X = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("constant", [3, 0.5, True, None, "twice"])
def test_a_constant_is_no_argument(constant, decomposed):
    """Torch fixes it at the example's value."""

    def scaled(x, by):
        return x * (by if isinstance(by, float | int) else 2)

    program = export(scaled, X, constant)
    (got,) = compile_module(import_program(program, decomposed))(X.numpy())
    np.testing.assert_array_equal(got, scaled(X, constant).numpy())


def test_stock_stops_at_a_number_or_makes_it_an_argument():
    with tvm_kokoro_ext.disabled("all"):
        try:
            module = import_program(export(lambda x, by: x * by, X, 3), True)
        except (AttributeError, ValueError):
            return
    assert len(module["main"].params) == 2


@pytest.mark.parametrize("decomposed", [True, False])
def test_parameters_of_bfloat16_need_not_be_contiguous(decomposed):
    """Numpy has no bfloat16, and stock takes it where DLPack refuses the strides."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(8.0).reshape(2, 4).bfloat16().t())
            self.register_buffer("bias", torch.arange(4.0).bfloat16()[::2])

        def forward(self, x):
            return (x.bfloat16() @ self.weight + self.bias).float()

    module = Tied().eval()
    with torch.no_grad():
        program = torch.export.export(module, (X,))
    before = {name: value.stride() for name, value in program.state_dict.items()}
    (got,) = compile_module(import_program(program, decomposed))(X.numpy())
    np.testing.assert_array_equal(got, module(X).detach().numpy())
    assert {name: value.stride() for name, value in program.state_dict.items()} == before


REFUSED = {
    "float8": (lambda x: x.to(torch.float8_e4m3fn).float(), "float8_e4m3fn.*convert them"),
    "float8_constant": (lambda x: x + torch.ones(4).to(torch.float8_e5m2).float(), "float8_e5m2"),
    "quantized": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "quantize_per_tens"),
    "random": (lambda x: x + torch.rand(4), r"aten\.rand.*Make the noise an input"),
    "dropout": (lambda x: torch.dropout(x, 0.5, True), r"dropout.*module\.eval\(\)"),
    "factorized": (lambda x: torch.linalg.svd(x)[1], "_linalg_svd.*custom_convert_map"),
    "nothing": (lambda x: None, "the program: it returns nothing. Return a tensor"),
    "a_shape_of_nothing": (lambda x: torch.broadcast_shapes(()), "it returns nothing"),
    "gradient": (lambda x: torch.func.grad(lambda y: (y**2).sum())(x), ".*"),
    "product_with_gradient": (
        lambda x: torch.func.vjp(lambda y: y.softmax(1), x)[1](x)[0],
        r"the constant 'lifted_tensor_0'.*make_fx|torch's decomposition of the program failed",
    ),
}


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name, decomposed):
    function, message = REFUSED[name]
    with pytest.raises(UnsupportedOperatorError, match=message):
        import_program(export(function, X), decomposed)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (X.to(torch.float8_e5m2), "input 'args_0' of torch.float8_e5m2.*float16 or float32"),
        (X.to(torch.complex32), r"complex input.*view_as_real"),
    ],
)
def test_an_input_is_refused_by_name(example, message):
    function = torch.real if example.is_complex() else lambda x: x.to(torch.float32)
    with pytest.raises(UnsupportedOperatorError, match=message):
        import_program(export(function, example), True)


def test_a_sparse_input_is_one_of_dense_tensors():
    """As in stock. What asks for its layout has no converter."""
    program = export(lambda x, y: torch.sparse.mm(x, y), X.to_sparse(), X.T.contiguous())
    (got,) = compile_module(import_program(program, True))(X.numpy(), X.T.contiguous().numpy())
    torch.testing.assert_close(torch.from_numpy(got), X @ X.T)
    with pytest.raises(UnsupportedOperatorError, match="values"):
        import_program(export(lambda x: x.coalesce().values() + 1, X.to_sparse()), True)


#: Programs of inputs named `input`, `id` and `type`, in which something has to be changed.
NAMED = {
    "written": lambda input, id, type: (input + id).mul_(2.0) + input.clone().fill_(3.0),
    "number": lambda input, id, type: (input + id, 3),
    "constant": lambda input, id, type: input * 2 if type is None else id,
    "view_of_attention": lambda input, id, type: (
        torch.nn.functional.scaled_dot_product_attention(
            input.view(1, 2, 3, 2), id.view(1, 2, 3, 2), id.view(1, 2, 3, 2), torch.zeros(3, 3)
        )
        .transpose(1, 2)
        .reshape(3, 4)
        .view(12)
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_input_may_be_named_like_a_builtin(name):
    """Copies of a graph gave it another name than the signature."""
    function = NAMED[name]

    class Named(torch.nn.Module):
        def forward(self, input, id, type=None):
            return function(input, id, type)

    x, y = torch.randn(12), torch.randn(12)
    program = torch.export.export(Named(), (x.clone(), y, None))
    made = import_program(program, True)
    assert [str(parameter) for parameter in made["main"].params] == ["input", "id"]
    if name != "number":
        (got,) = compile_module(made)(x.numpy(), y.numpy())
        torch.testing.assert_close(torch.from_numpy(got), function(x.clone(), y, None))


def test_a_number_that_may_change_is_refused_by_name():
    shapes = (({}, torch.export.Dim.DYNAMIC),)
    program = export(lambda x, by: x * by, X, 3, dynamic_shapes=shapes)
    with pytest.raises(UnsupportedOperatorError, match=r"input 'args_1'.*x\.item\(\)"):
        import_program(program, True)


def test_a_custom_converter_may_take_a_dtype_that_the_frontend_lacks():
    """What the caller converts is the caller's."""
    from tvm import relax

    def convert(node, importer):
        return importer.block_builder.emit(relax.op.negative(importer.env[node.args[0]]))

    program = export(lambda x: x.to(torch.float8_e4m3fn), X)
    with pytest.raises(UnsupportedOperatorError, match="float8"):
        import_program(program, False)
    own = import_program(program, False, custom_convert_map={"to.dtype": convert})
    (got,) = compile_module(own)(X.numpy())
    np.testing.assert_array_equal(got, -X.numpy())
