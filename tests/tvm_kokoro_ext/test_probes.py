"""A probe finds its defect exactly in the versions of the guard.

Probes decide for versions that have not been measured. Each is therefore checked on the measured
versions, where the probe and the version guard must agree.
"""

import contextlib

import pytest
from packaging.version import Version

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat, _probe, _program_probe


@pytest.fixture(autouse=True)
def _stock():
    with tvm_kokoro_ext.disabled("all"):
        yield


PROBED = [record for record in tvm_kokoro_ext.fixes if record.fix.probe is not None]


@pytest.mark.parametrize("record", [pytest.param(record, id=record.id) for record in PROBED])
def test_probe_and_range_agree(record):
    assert record.fix.probe() is record.fix.affects(_compat.tvm_version())


def test_where_no_probe_is_cheap_the_newest_version_is_right():
    """What only a probe could turn off on a version to come would stay off there for nothing."""
    newest = Version(_compat.PAIRS[-1].tested[0])
    unprobed = [record for record in tvm_kokoro_ext.fixes if record not in PROBED]
    assert [record.id for record in unprobed if record.fix.affects(newest)] == []


@pytest.mark.parametrize(
    ("names", "lacking"),
    [(["relu.default"], False), (["relu.default", "nonsense.default"], True)],
)
def test_lacks_any_of_the_names(names, lacking):
    assert _probe.lacks(*names)() is lacking


@pytest.mark.parametrize("answers", [(True, False), (False, True), (False, False)])
def test_a_fix_of_parts_is_wanted_while_one_is_wrong(answers):
    parts = [lambda answer=answer: answer for answer in answers]
    assert _probe.any_of(*parts)() is any(answers)


def _apply(target):
    return lambda graph, x: [graph.call_function(target, (x,))]


def test_a_program_is_imported_without_being_exported():
    import torch

    module = _program_probe.graph_module(_apply(torch.ops.aten.relu.default), [_probe.Input((4,))])
    function = _program_probe.imported(module)["main"]
    assert _probe.operators_of(function) == ("relax.nn.relu",)


def test_a_program_that_stock_refuses_is_a_finding():
    import torch

    write = _apply(torch.ops.aten.nonzero.default)
    module = _program_probe.graph_module(write, [_probe.Input((4,))])
    with pytest.raises(_probe.ProbeError, match="nonzero"):
        _program_probe.imported(module)


def test_what_legalization_refuses_is_a_finding():
    def apply(x):
        return _compat.relax.op.reshape(_compat.relax.op.nn.relu(x), (2, 2))

    made = _probe.legalized(apply, _probe.Input((4,)))
    assert len(list(made.functions_items())) == 3
    with pytest.raises(_probe.ProbeError), _failing_legalization("relax.nn.relu"):
        _probe.legalized(apply, _probe.Input((4,)))


@contextlib.contextmanager
def _failing_legalization(name):
    """Within the block, TVM cannot legalize an operator."""

    def fail(builder, call):
        raise ValueError("asked by a test")

    kept = _compat.get_legalization(name)
    _compat.set_legalization(name, fail, 11)
    try:
        yield
    finally:
        _compat.set_legalization(name, kept, 10)
