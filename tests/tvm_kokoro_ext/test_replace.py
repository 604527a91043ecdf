"""A replaced function is the same object, whoever has bound it before, and is given back whole."""

import inspect
import itertools

import pytest
from test_activation import python

from tvm_kokoro_ext import _replace


def stock():
    """A module's function, made anew for each test."""

    def scaled(x, factor=2, *, offset=0):
        """What stock does."""
        return x * factor + offset

    return scaled


def adding(number):
    def wrap(original):
        def added(*args, **kwargs):
            return original(*args, **kwargs) + number

        return added

    return wrap


def test_a_reference_from_before_reaches_the_replacement_and_later_the_original():
    function = bound_before = stock()
    before = dict(vars(function))
    undo = _replace.in_place({function: adding(100)})
    assert bound_before is function
    assert [function(3), function(3, 5), function(3, factor=5, offset=1)] == [106, 115, 116]
    undo()
    assert [function(3), function(3, 5), function(3, factor=5, offset=1)] == [6, 15, 16]
    assert (vars(function), function.__kwdefaults__) == (before, {"offset": 0})
    assert not _replace._replaced.keys() & {function}


def test_the_signature_and_the_text_are_still_those_of_the_function():
    function, other = stock(), stock()
    undo = _replace.in_place({function: lambda original: original})
    assert inspect.signature(function) == inspect.signature(other)
    assert inspect.getsource(function) == inspect.getsource(other)
    assert (function.__name__, function.__doc__) == (other.__name__, other.__doc__)
    undo()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_replacements_over_one_another_are_undone_in_any_order(order):
    function = stock()
    numbers = (10, 200, 3000)
    undos = [_replace.in_place({function: adding(number)}) for number in numbers]
    left = sum(numbers)
    assert function(1) == 2 + left
    for position in order:
        undos[position]()
        left -= numbers[position]
        assert function(1) == 2 + left


def test_an_unexpected_argument_is_still_an_error():
    function = stock()
    undo = _replace.in_place({function: adding(1)})
    with pytest.raises(TypeError, match="no_such"):
        function(1, no_such=2)
    undo()


@pytest.mark.slow
def test_functions_bound_before_the_extension_is_imported_are_the_fixed_ones():
    """Sorted imports bind TVM's functions first; what they do must not depend on that."""
    output = python(
        """
        import onnx
        import torch
        import torch.nn.functional as F
        import tvm
        from onnx import TensorProto, helper
        from tvm import compile as tvm_compile
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx
        from tvm.relax.frontend.torch import from_exported_program
        import tvm_kokoro_ext
        from tvm_kokoro_ext import UnsupportedOperatorError

        class Attention(torch.nn.Module):
            def forward(self, q, mask):
                made = F.scaled_dot_product_attention(q, q, q, mask).transpose(1, 2)
                return made.reshape(2, 5, 32).view(-1, 32)

        class Dropped(torch.nn.LSTM):
            def forward(self, x):
                return super().forward(x)[0]

        def imported(module, *inputs, **options):
            return from_exported_program(torch.export.export(module, inputs), **options)

        q, mask = torch.randn(2, 4, 5, 8), torch.randn(2, 1, 5, 5)
        module = imported(Attention().eval(), q, mask, func_name="attention")
        print([name.name_hint for name in module.get_global_vars()])
        vm = relax.VirtualMachine(tvm_compile(module, target={"kind": "llvm"}), tvm.cpu())
        print(vm["attention"](*(tvm.runtime.tensor(x.numpy()) for x in (q, mask)))[0].shape)
        try:
            imported(Dropped(3, 3, 2, dropout=0.5).train(), torch.randn(2, 2, 3))
        except UnsupportedOperatorError as error:
            print(str(error).split(":")[0])
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
        node = helper.make_node("RandomNormalLike", ["x"], ["y"])
        noise = from_onnx(helper.make_model(helper.make_graph([node], "noise", [x], [y])))
        print(len(noise["main"].params))
        """
    )
    assert output.splitlines() == [
        "['attention']",
        "(10, 32)",
        "cannot import aten.lstm.input",
        "2",
    ]
