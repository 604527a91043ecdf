"""Loop, and Scan of a known number of steps, against ONNX Runtime."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="the results are compared with it")

from onnx import parser  # noqa: E402
from onnx_cases import compiled  # noqa: E402
from packaging.version import Version  # noqa: E402

from tvm_kokoro_ext import UnsupportedOperatorError, _compat  # noqa: E402

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() < Version("0.27"), reason="this fix is for 0.27 and newer"
)

_LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
graph (float[3,n] x, int64 data) => ({outputs})
{{
  steps = Constant <value = int64 {{{steps}}}> ()
  go = Constant <value = bool {{{go}}}> ()
  zero = Constant <value = int64 {{0}}> ()
  {before}
  {results} = Loop ({given}) <body = body ({counter} i, bool c, {carried}) => (bool d, {made})
  {{
    {body}
  }}>
  {after}
}}
"""


def loop(
    body,
    given="steps, go, x",
    carried="float[3,n] a",
    made="float[3,n] r",
    results="y",
    outputs="float[k,n] y",
    before="",
    after="",
    steps=4,
    go=1,
    counter="int64",
):
    words = dict(locals())
    return parser.parse_model(_LOOP.format(**words))


GO_ON = "d = Identity (c)"
COUNTED = """
  two = Constant <value = int64 {2}> ()
  seven = Constant <value = int64 {7}> ()
  k = Add (j, two)
  r = Sin (a)
  d = Less (k, seven)
"""


def counted(given):
    carried, made = "float[3,n] a, int64 j", "float[3,n] r, int64 k"
    return loop(COUNTED, given, carried, made, "y, last", "float[3,n] y, int64 last", steps=100)


LOOPS = {
    "counter": loop(f"f = Cast <to = 1> (i) s = Add (a, f) r = Tanh (s) {GO_ON}"),
    "no_condition": loop("r = Tanh (a) d = Constant <value = bool {1}> ()", "steps, , x"),
    "no_steps": loop(f"r = Tanh (a) {GO_ON}", steps=0),
    "no_start": loop(f"r = Tanh (a) {GO_ON}", go=0),
    "condition_of_a_carried_number": counted("steps, go, x, zero"),
    "no_number_of_steps": counted(", go, x, zero"),
    "kept_values": loop(
        f"r = Mul (a, a) o = Neg (r) {GO_ON}",
        made="float[3,n] r, float[3,n] o",
        results="y, all",
        outputs="float[3,n] y, float[k,3,n] all",
    ),
    "growing": loop(f"r = Concat <axis = 0> (a, x) {GO_ON}", carried="float[p,n] a"),
    "gather_of_the_counter": loop(
        f"g = Gather <axis = 0> (x, i) s = Add (a, g) r = Sigmoid (s) {GO_ON}", steps=3
    ),
    "slice_by_a_counter_of_one_axis": loop(
        "one = Constant <value = int64[1] {1}> () k = Add (i, one) z = Sub (i, i) "
        f"g = Slice (x, i, k, z) r = Add (a, g) {GO_ON}",
        steps=3,
        counter="int64[1]",
    ),
    "if_of_the_counter": loop(
        "one = Constant <value = int64 {1}> () e = Equal (i, one) r = If (e) <"
        "then_branch = p () => (float[3,n] u) { u = Neg (a) }, "
        "else_branch = q () => (float[3,n] v) { v = Exp (a) }> " + GO_ON
    ),
    "if_of_data": loop(
        "e = Less (i, data) r = If (e) <"
        "then_branch = p () => (float[3,n] u) { u = Neg (a) }, "
        "else_branch = q () => (float[3,n] v) { v = Tanh (a) }> " + GO_ON
    ),
    "sequence": loop(
        f"g = Gather <axis = 0> (x, i) r = SequenceInsert (a, g) {GO_ON}",
        "steps, go, none",
        "seq(float[n]) a",
        "seq(float[n]) r",
        "pieces",
        "float[k] y",
        "none = SequenceEmpty <dtype = 1> ()",
        "y = ConcatFromSequence <axis = 0> (pieces)",
        steps=3,
    ),
    "nested": loop(
        "two = Constant <value = int64 {2}> () r = Loop (two, c, a) <body = inner "
        "(int64 h, bool e, float[3,n] p) => (bool f, float[3,n] q) "
        "{ w = Add (h, i) v = Cast <to = 1> (w) u = Mul (p, v) q = Tanh (u) f = Identity (e) }> "
        + GO_ON
    ),
}


def same(model, *calls):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [value.name for value in model.graph.input]
    run = compiled(model)
    for arrays in calls:
        wanted = session.run(None, dict(zip(names, arrays, strict=True)))
        for mine, theirs in zip(run(*arrays), wanted, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def reals(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_a_known_number_of_steps_is_written_out(name):
    same(LOOPS[name], (reals(3, 5), np.array(2)))


_SCAN = """
<ir_version: 8, opset_import: ["" : 17]>
graph (float[n,4] h0, {inputs}) => (float[n,4] h, float[j,k,l] y)
{{
  h, y = Scan (h0, {names}) <num_scan_inputs = {count}{attributes}, body = body
    (float[n,4] a, {parts}) => (float[n,4] r, float[n,4] o)
  {{
    {body}
    r = Tanh (s)
    o = Neg (r)
  }}>
}}
"""
TWO = {
    "inputs": "float[5,n,4] x, float[n,5] z",
    "names": "x, z",
    "count": 2,
    "attributes": ", scan_input_axes = [0, 1]",
    "parts": "float[n,4] p, float[n] q",
    "body": "axis = Constant <value = int64[1] {1}> () "
    "w = Unsqueeze (q, axis) t = Add (a, p) s = Mul (t, w)",
}
ONE = {"inputs": "float[5,n,4] x", "names": "x", "count": 1, "attributes": ""} | {
    "parts": "float[n,4] p",
    "body": "s = Add (a, p)",
}
TURNED = {
    "inputs": "float[n,5,4] x",
    "attributes": ", scan_input_axes = [1], scan_output_axes = [2], "
    "scan_input_directions = [1], scan_output_directions = [1]",
}


@pytest.mark.parametrize(
    ("words", "shapes"),
    [
        pytest.param(ONE, [(5, 3, 4)], id="one"),
        pytest.param(ONE | TURNED, [(3, 5, 4)], id="turned"),
        pytest.param(TWO, [(5, 3, 4), (3, 5)], id="two"),
    ],
)
def test_a_scan_of_a_known_number_of_steps_is_written_out(words, shapes):
    model = parser.parse_model(_SCAN.format(**words))
    same(model, (reals(3, 4), *(reals(*shape) for shape in shapes)))


COUNT = "shape = Shape (x) one = Constant <value = int64 {1}> () count = Gather (shape, one)"
KEEPING = {
    "made": "float[3,n] r, float[3,n] o",
    "results": "y, all",
    "outputs": "float[3,n] y, float[k,3,n] all",
}
SHRINK = """
  r = Mul (a, a)
  t = ReduceSum <keepdims = 0> (r)
  least = Constant <value = float {0.01}> ()
  d = Less (least, t)
"""
DECIDED = {
    "number_of_data": (loop(f"r = Tanh (a) {GO_ON}", "data, go, x"), [0, 1, 16, 17, 300]),
    "number_of_a_size": (loop(f"r = Tanh (a) {GO_ON}", "count, go, x", before=COUNT), [0]),
    "condition_of_data": (loop(SHRINK, ", go, x"), [0]),
    "condition_and_number_of_data": (loop(SHRINK, "data, go, x"), [1, 300]),
    "condition_of_the_start": (
        loop(f"r = Tanh (a) {GO_ON}", "steps, more, x", before="more = Equal (data, zero)"),
        [0, 1],
    ),
    "more_steps_than_are_written_out": (loop(f"r = Tanh (a) {GO_ON}", steps=9000), [0]),
    "kept_values": (loop(f"r = Sin (a) o = Neg (r) {GO_ON}", "data, go, x", **KEEPING), [1, 40]),
    "kept_values_of_each_column": (
        loop(
            f"g = Gather <axis = 1> (x, i) o = Exp (g) r = Add (a, a) {GO_ON}",
            "count, go, x",
            before=COUNT,
            made="float[3,n] r, float[3] o",
            results="y, all",
            outputs="float[3,n] y, float[k,3] all",
        ),
        [0],
    ),
    "growing": (
        loop(f"r = Concat <axis = 0> (a, x) {GO_ON}", "data, go, x", carried="float[p,n] a"),
        [0, 1, 20],
    ),
    "number_of_one_axis": (
        loop(
            "one = Constant <value = int64[1] {1}> () k = Add (i, one) z = Sub (one, one) "
            f"g = Slice (x, i, k, z) s = Squeeze (g, z) r = Add (a, s) {GO_ON}",
            "data, go, x",
            counter="int64[1]",
        ),
        [2],
    ),
    "nested": (
        loop(
            "r = Loop (data, c, a) <body = inner (int64 h, bool e, float[3,n] p) => "
            "(bool f, float[3,n] q) { w = Add (h, i) v = Cast <to = 1> (w) u = Mul (p, v) "
            f"q = Tanh (u) f = Identity (e) }}> {GO_ON}",
            "data, go, x",
        ),
        [3],
    ),
    "if_of_the_number": (
        loop(
            "one = Constant <value = int64 {1}> () e = Equal (i, one) r = If (e) <"
            "then_branch = p () => (float[3,n] u) { u = Neg (a) }, "
            f"else_branch = q () => (float[3,n] v) {{ v = Exp (a) }}> {GO_ON}",
            "data, go, x",
        ),
        [1, 2],
    ),
    "two_carried_values_and_numbers": (
        loop(
            COUNTED,
            "data, go, x, zero",
            "float[3,n] a, int64 j",
            "float[3,n] r, int64 k",
            "y, last",
            "float[3,n] y, int64 last",
        ),
        [0, 2, 100],
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_a_loop_of_steps_that_the_call_decides(name):
    model, numbers = DECIDED[name]
    for size in (5, 8):
        same(model, *[(reals(3, size) / 4, np.array(number)) for number in numbers])


def test_what_no_step_has_kept_has_the_sizes_of_a_step():
    model = loop(f"r = Mul (a, a) o = Neg (r) {GO_ON}", "data, go, x", **KEEPING)
    assert compiled(model)(reals(3, 5), np.array(0))[1].shape == (0, 3, 5)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            loop(
                f"g = Slice (x, k, w, k) o = Identity (g) r = Tanh (a) {GO_ON}",
                "data, go, x",
                before="k = Constant <value = int64[1] {0}> () one = Constant <value = int64 {1}> "
                "() w = Unsqueeze (data, k)",
                made="float[3,n] r, float[p,n] o",
                results="y, all",
                outputs="float[3,n] y, float[k,3,n] all",
            ),
            "Loop: what it keeps of each step has sizes that only the step knows",
        ),
        (
            loop(
                f"o = Transpose (a) r = Flatten <axis = 0> (o) e = Squeeze (r, k) {GO_ON}",
                "data, go, x",
                made="float[n] e",
                before="k = Constant <value = int64[1] {0}> ()",
            ),
            "Loop: a step makes float32 of 1 axes of float32 of 2",
        ),
        (
            parser.parse_model(_SCAN.format(**ONE | {"inputs": "float[t,n,4] x"})),
            "Scan: the number of its steps",
        ),
    ],
)
def test_a_loop_that_cannot_be_converted_is_refused(model, words):
    with pytest.raises(UnsupportedOperatorError, match=words):
        compiled(model)
