"""The ONNX frontend: LSTM against torch, random tensors as inputs, and models that are refused."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from frontend_cases import compile_module

onnx = pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tvm.relax.frontend.onnx import from_onnx  # noqa: E402

import tvm_kokoro_ext  # noqa: E402
from tvm_kokoro_ext import UnsupportedOperatorError, _compat  # noqa: E402

FLOAT = TensorProto.FLOAT


def model_of(nodes, inputs, outputs, constants=None, opset=17):
    """A model of these nodes; inputs are shapes by name."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def onnx_order(tensor):
    """Torch's gates i, f, g, o along the first axis as ONNX's i, o, f, c."""
    i, f, g, o = tensor.detach().numpy().reshape(4, -1, *tensor.shape[1:])
    return np.concatenate([i, o, f, g])


def lstm_model(lstm, *, direction, states, layout, length):
    """The ONNX model of a one-layer torch LSTM."""
    suffixes = ["", "_reverse"] if lstm.bidirectional else [""]

    def stacked(kind):
        return np.stack([onnx_order(getattr(lstm, f"{kind}_l0{s}")) for s in suffixes])

    constants = {"w": stacked("weight_ih"), "r": stacked("weight_hh")}
    names = ["x", "w", "r"]
    if lstm.bias:
        constants["b"] = np.concatenate([stacked("bias_ih"), stacked("bias_hh")], axis=1)
    names += ["b" if lstm.bias else "", "", *(("h", "c") if states else ())]
    directions, batch, hidden = len(suffixes), 2, lstm.hidden_size
    state = [batch, directions, hidden] if layout else [directions, batch, hidden]
    inputs = {"x": [batch, length, 3] if layout else [length, batch, 3]}
    if states:
        inputs |= {"h": state, "c": state}
    node = helper.make_node(
        "LSTM", names, ["y", "yh", "yc"], hidden_size=hidden, direction=direction, layout=layout
    )
    return model_of([node], inputs, ["y", "yh", "yc"], constants)


@pytest.mark.parametrize(
    ("direction", "bias", "states", "layout", "length"),
    [
        ("forward", True, False, 0, 5),
        ("bidirectional", True, True, 0, "time"),
        ("bidirectional", False, False, 1, 5),
        ("reverse", True, True, 0, 5),
        ("forward", False, True, 1, "time"),
    ],
)
def test_lstm_equals_torch(direction, bias, states, layout, length):
    torch.manual_seed(0)
    both = direction == "bidirectional"
    lstm = torch.nn.LSTM(3, 4, bias=bias, bidirectional=both)
    run = compile_module(
        from_onnx(
            lstm_model(lstm, direction=direction, states=states, layout=layout, length=length)
        )
    )
    for steps in (5, 8) if length == "time" else (5,):
        x = torch.randn(steps, 2, 3)
        h, c = torch.randn(2, 1 + both, 2, 4) if states else torch.zeros(2, 1 + both, 2, 4)
        with torch.no_grad():
            out, (hn, cn) = lstm(x.flip(0) if direction == "reverse" else x, (h, c))
        out = out.flip(0) if direction == "reverse" else out
        want = [out.reshape(steps, 2, 1 + both, 4).transpose(1, 2), hn, cn]
        given = [x, h, c] if states else [x]
        if layout:
            given = [t.transpose(0, 1) for t in given]
            want = [want[0].permute(2, 0, 1, 3), hn.transpose(0, 1), cn.transpose(0, 1)]
        got = run(*[t.contiguous().numpy() for t in given])
        for mine, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        (["x", "w", "r"], {"clip": 1.0}, "clips its gates"),
        (["x", "w", "r"], {"activations": ["Relu", "Cos", "Tanh"]}, "Relu, Cos, Tanh"),
        (["x", "w", "r", "", "", "", "", "p"], {}, "peepholes"),
    ],
)
def test_lstm_that_is_refused_by_name(inputs, attributes, message):
    constants = {
        "w": np.ones((1, 16, 3), "float32"),
        "r": np.ones((1, 16, 4), "float32"),
        "p": np.ones((1, 12), "float32"),
    }
    node = helper.make_node("LSTM", inputs, ["y"], hidden_size=4, **attributes)
    model = model_of([node], {"x": [5, 2, 3]}, ["y"], constants)
    with pytest.raises(UnsupportedOperatorError, match=f"ONNX operator LSTM.*{message}"):
        from_onnx(model)


def recurrent_model(operator, gates, *, bias, length="time", **attributes):
    """A layer of 3 features and 4 hidden units, of 2 rows with lengths."""
    draw = np.random.default_rng(0)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    constants = {
        "w": draw.standard_normal((directions, gates * 4, 3)).astype("float32"),
        "r": draw.standard_normal((directions, gates * 4, 4)).astype("float32"),
        "b": draw.standard_normal((directions, gates * 8)).astype("float32"),
    }
    names = ["x", "w", "r", "b" if bias else "", "n", "h"]
    node = helper.make_node(operator, names, ["y", "yh"], hidden_size=4, **attributes)
    inputs = {"x": [length, 2, 3], "n": [2], "h": [directions, 2, 4]}
    model = model_of([node], inputs, ["y", "yh"], constants)
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.INT32
    return model


RECURRENT = [
    ("GRU", 3, {"bias": True}),
    ("GRU", 3, {"bias": True, "linear_before_reset": 1, "direction": "bidirectional"}),
    ("GRU", 3, {"bias": False, "linear_before_reset": 1, "direction": "reverse"}),
    ("RNN", 1, {"bias": True, "direction": "bidirectional"}),
    ("RNN", 1, {"bias": True, "activations": ["Relu"]}),
    ("LSTM", 4, {"bias": True, "direction": "bidirectional"}),
    ("LSTM", 4, {"bias": True, "activations": ["HardSigmoid", "Tanh", "Softsign"]}),
    (
        "LSTM",
        4,
        {
            "bias": True,
            "direction": "bidirectional",
            "activations": ["HardSigmoid", "Elu", "Affine", "Sigmoid", "HardSigmoid", "Softplus"],
            "activation_alpha": [0.25, 0.5, 1.5, 0.3],
            "activation_beta": [0.4, 0.1, 0.6],
        },
    ),
    ("GRU", 3, {"bias": True, "activations": ["HardSigmoid", "Relu"]}),
    (
        "RNN",
        1,
        {
            "bias": True,
            "direction": "bidirectional",
            "activations": ["Relu", "Sigmoid"],
        },
    ),
]


@pytest.mark.parametrize(("operator", "gates", "options"), RECURRENT)
def test_recurrent_layers_equal_onnx_runtime(operator, gates, options):
    runtime = pytest.importorskip("onnxruntime", reason="onnx's evaluator has no lengths")
    model = recurrent_model(operator, gates, **options)
    run, session = (
        compile_module(from_onnx(model)),
        runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]),
    )
    draw = np.random.default_rng(1)
    directions = model.graph.input[2].type.tensor_type.shape.dim[0].dim_value
    for steps in (5, 8):
        x = draw.standard_normal((steps, 2, 3)).astype("float32")
        h = draw.standard_normal((directions, 2, 4)).astype("float32")
        lengths = np.array([steps, 3], "int32")
        want = session.run(None, {"x": x, "n": lengths, "h": h})
        for mine, theirs in zip(run(x, lengths, h), want, strict=False):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("operator", "gates", "attributes", "message"),
    [
        ("GRU", 3, {"activations": ["Relu"]}, "Relu.*Use 2 for each direction"),
        ("RNN", 1, {"activations": ["Sin"]}, "Sin.*Use 1 for each direction, of Sigmoid, Tanh"),
        ("RNN", 1, {"clip": 1.0}, "clips its gates"),
    ],
)
def test_recurrent_layers_that_are_refused_by_name(operator, gates, attributes, message):
    model = recurrent_model(operator, gates, bias=False, **attributes)
    with pytest.raises(UnsupportedOperatorError, match=f"ONNX operator {operator}.*{message}"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("operator", "attributes", "scale", "shift"),
    [
        ("RandomNormalLike", {"mean": 2.0, "scale": 0.5}, 0.5, 2.0),
        ("RandomUniformLike", {"low": -1.0, "high": 3.0}, 4.0, -1.0),
    ],
)
def test_noise_becomes_an_input(operator, attributes, scale, shift):
    nodes = [
        helper.make_node(operator, ["x"], ["drawn"], **attributes),
        helper.make_node("Add", ["x", "drawn"], ["y"]),
    ]
    module = from_onnx(model_of(nodes, {"x": [2, "n"]}, ["y"]))
    assert [_compat.name_of(p) for p in module["main"].params] == ["x", "drawn_noise"]
    x, noise = np.random.default_rng(0).standard_normal((2, 2, 7)).astype("float32")
    (got,) = compile_module(module)(x, noise)
    np.testing.assert_allclose(got, x + noise * scale + shift, rtol=1e-6)


def test_noise_of_a_fixed_shape_becomes_an_input():
    nodes = [
        helper.make_node("RandomNormal", [], ["drawn"], shape=[2, 3]),
        helper.make_node("Add", ["x", "drawn"], ["y"]),
    ]
    run = compile_module(from_onnx(model_of(nodes, {"x": [2, 3]}, ["y"])))
    x, noise = np.ones((2, 3), "float32"), np.full((2, 3), 0.25, "float32")
    np.testing.assert_array_equal(run(x, noise)[0], x + noise)


def relu(**more):
    return model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": [3]}, ["y"], **more)


def test_a_model_that_is_right_is_imported():
    x = np.array([-1, 0, 2], "float32")
    np.testing.assert_array_equal(compile_module(from_onnx(relu()))(x)[0], [0, 0, 2])


def test_nodes_out_of_order_are_put_in_order():
    """Also those that only a branch of If reads; those that wait for nothing keep their places."""
    branches = [
        helper.make_graph(
            [helper.make_node(operator, ["late"], ["made"])],
            operator,
            [],
            [helper.make_tensor_value_info("made", TensorProto.FLOAT, [3])],
        )
        for operator in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("Add", ["made_of", "x"], ["y"]),
        helper.make_node(
            "If", ["yes"], ["made_of"], then_branch=branches[0], else_branch=branches[1]
        ),
        helper.make_node("Relu", ["x"], ["late"]),
    ]
    model = model_of(nodes, {"x": [3]}, ["y"], constants={"yes": np.array(True)})
    x = np.array([-1, 0, 2], "float32")
    np.testing.assert_array_equal(compile_module(from_onnx(model))(x)[0], [-1, 0, 0])
    assert [node.op_type for node in model.graph.node] == ["Add", "If", "Relu"]


@pytest.mark.parametrize(
    ("operator", "lists", "opset", "want"),
    [
        ("ReduceMax", {"axes": []}, 13, [[2.0]]),
        ("Transpose", {"perm": []}, 18, [[0.0], [1.0], [2.0]]),
        ("Squeeze", {"axes": []}, 11, [0.0, 1.0, 2.0]),
        ("Unsqueeze", {"axes": []}, 11, [[0.0, 1.0, 2.0]]),
        ("Slice", {"starts": [], "ends": []}, 9, [[0.0, 1.0, 2.0]]),
    ],
)
def test_an_empty_list_is_read(operator, lists, opset, want):
    node = onnx.helper.make_node(operator, ["x"], ["y"])
    for name in lists:
        node.attribute.append(onnx.AttributeProto(name=name, type=onnx.AttributeProto.INTS))
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3])
    graph = onnx.helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    (got,) = compile_module(from_onnx(model))(np.arange(3, dtype="float32")[None])
    assert got.tolist() == want


@pytest.mark.parametrize("name", ["value_ints", "value_floats"])
def test_a_constant_may_have_no_elements(name):
    kind = getattr(onnx.AttributeProto, name.partition("_")[2].upper())
    node = onnx.helper.make_node("Constant", [], ["y"])
    node.attribute.append(onnx.AttributeProto(name=name, type=kind))
    graph = onnx.helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name="y")])
    (got,) = compile_module(from_onnx(onnx.helper.make_model(graph)))()
    assert (got.shape, got.dtype) == ((0,), "int64" if name == "value_ints" else "float32")


def test_nodes_that_read_each_other_are_refused():
    nodes = [helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    with pytest.raises(UnsupportedOperatorError, match="'Add' reads 'y'"):
        from_onnx(model_of(nodes, {"x": [3]}, ["y"]))


def _without_data():
    model = relu(constants={"w": np.ones(3, "float32")})
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    return model


def _damaged():
    model = relu()
    model.graph.node[0].input[0] = "nothing"
    return model


def _without_output():
    model = relu()
    model.graph.output[0].name = "lost"
    return model


def _of_a_sequence(optional):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))
    model = relu()
    model.graph.input[0].type.CopyFrom(helper.make_optional_type_proto(kind) if optional else kind)
    return model


def _of_strings(where):
    model = relu()
    if where == "initializer":
        model.graph.initializer.append(helper.make_tensor("x", TensorProto.STRING, [1], [b"a"]))
    else:
        getattr(model.graph, where)[0].type.tensor_type.elem_type = TensorProto.STRING
    return model


BROKEN = {
    "opset": (lambda: relu(opset=999), "opset is 999.*older opset"),
    "no_opset": (lambda: onnx.ModelProto(ir_version=8, graph=relu().graph), "names no opset"),
    "data": (_without_data, "'w' are in another file.*load_external_data_for_model"),
    "node": (_damaged, "'Relu' reads 'nothing'.*check_model"),
    "output": (_without_output, "no node gives its output 'lost'"),
    "string_input": (lambda: _of_strings("input"), "'x' holds strings.*extract_model"),
    "string_output": (lambda: _of_strings("output"), "'y' holds strings.*extract_model"),
    "string_constant": (lambda: _of_strings("initializer"), "'x' holds strings.*extract_model"),
    "sequence": (lambda: _of_a_sequence(False), "input 'x' is a sequence of tensors"),
    "optional_sequence": (lambda: _of_a_sequence(True), "input 'x' is a sequence of tensors"),
    "path": (lambda: "model.onnx", r"a path was given.*onnx\.load"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_model_that_cannot_be_read_is_refused(name):
    make, message = BROKEN[name]
    with pytest.raises(UnsupportedOperatorError, match=message):
        from_onnx(make())


def test_fixes_can_be_turned_off_and_on():
    lstm = torch.nn.LSTM(3, 4)
    model = lstm_model(lstm, direction="forward", states=False, layout=0, length=5)
    import tvm
    from tvm.relax.frontend import onnx as frontend

    with tvm_kokoro_ext.disabled("all"), pytest.raises(tvm.error.OpNotImplemented, match="LSTM"):
        frontend.from_onnx(model)
    frontend.from_onnx(model)


@pytest.mark.slow
def test_onnx_is_not_imported_before_it_is_used():
    code = (
        "import sys, tvm_kokoro_ext; assert 'onnx' not in sys.modules; "
        "from tvm.relax.frontend import onnx; "
        "states = {s.id: str(s.state) for s in tvm_kokoro_ext.status()}; "
        "assert states['onnx_lstm'] == 'applied', states; "
        "from tvm.relax.frontend.onnx import onnx_frontend; "
        "assert 'LSTM' in onnx_frontend._get_convert_map(); "
        "tvm_kokoro_ext.deactivate(); "
        "assert 'LSTM' not in onnx_frontend._get_convert_map(); "
        "assert onnx.from_onnx is onnx_frontend.from_onnx"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
