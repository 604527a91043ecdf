"""A checkpoint must match the architecture: both known forms pass, other differences are listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("kokoro")

from kokoro_pipeline.compiler.weights.architecture import (  # noqa: E402
    COMPONENTS,
    Shapes,
    expected_shapes,
    may_be_absent,
)
from kokoro_pipeline.compiler.weights.checkpoint import (  # noqa: E402
    State,
    complete_state,
    fingerprint,
    read_checkpoint,
)
from kokoro_pipeline.config import default_config  # noqa: E402
from kokoro_pipeline.errors import InputError  # noqa: E402


@pytest.fixture(scope="module")
def shapes() -> Shapes:
    """The real architecture's tensors."""
    return expected_shapes(default_config().raw)


@pytest.fixture
def state(shapes: Shapes) -> State:
    """A whole checkpoint without storage: only names, shapes and dtypes are looked at."""
    return {
        component: {name: torch.empty(shape, device="meta") for name, shape in tensors.items()}
        for component, tensors in shapes.items()
    }


def without_affines(state: State) -> State:
    """The real checkpoint's form."""
    return {
        component: {name: t for name, t in tensors.items() if not may_be_absent(name)}
        for component, tensors in state.items()
    }


def test_the_architecture_has_the_real_checkpoints_tensors(shapes: Shapes) -> None:
    """Published counts of kokoro-v1_0.pth: 548 tensors, and these parameters in each component."""
    real = {
        component: [shape for name, shape in tensors.items() if not may_be_absent(name)]
        for component, tensors in shapes.items()
    }
    assert tuple(shapes) == COMPONENTS
    assert {component: len(tensors) for component, tensors in real.items()} == {
        "bert": 25,
        "bert_encoder": 2,
        "predictor": 122,
        "text_encoder": 24,
        "decoder": 375,
    }
    assert {
        component: sum(torch.Size(shape).numel() for shape in tensors)
        for component, tensors in real.items()
    } == {
        "bert": 6_292_480,
        "bert_encoder": 393_728,
        "predictor": 16_194_612,
        "text_encoder": 5_606_400,
        "decoder": 53_276_190,
    }


def test_a_complete_checkpoint_passes(state: State, shapes: Shapes) -> None:
    """The form with affines, as the synthetic weights have it; order becomes the model's."""
    backwards = {c: dict(reversed(t.items())) for c, t in reversed(state.items())}
    complete = complete_state(backwards, shapes, "x.pth")
    assert [*complete] == [*COMPONENTS]
    assert {c: [*t] for c, t in complete.items()} == {c: [*t] for c, t in shapes.items()}


def test_absent_affines_become_the_identity(state: State, shapes: Shapes) -> None:
    """The real form; every other tensor is passed through as it is."""
    complete = complete_state(without_affines(state), shapes, "x.pth")
    filled = {
        f"{c}.{name}": tensor
        for c, tensors in complete.items()
        for name, tensor in tensors.items()
        if name not in without_affines(state)[c]
    }
    assert len(filled) == 140
    for name, tensor in filled.items():
        assert bool((tensor == float(name.endswith("weight"))).all()), name


AFFINE = "encode.norm1.norm.weight"


def drop(component: str, name: str) -> Callable[[State], object]:
    """A fault: the tensor is not there."""
    return lambda state: state[component].pop(name)


def put(
    component: str, name: str, *shape: int, dtype: torch.dtype = torch.float32
) -> Callable[[State], object]:
    """A fault: a tensor that is not in the architecture, or not like this."""
    tensor = torch.empty(shape, device="meta", dtype=dtype)
    return lambda state: state.setdefault(component, {}).update({name: tensor})


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (drop("bert", "pooler.bias"), "missing bert.pooler.bias"),
        (drop("decoder", AFFINE), f"missing decoder.{AFFINE}"),
        (drop("text_encoder", "cnn.0.1.gamma"), "missing text_encoder.cnn.0.1.gamma"),
        (lambda state: state.pop("predictor"), "missing predictor"),
        (put("decoder", "generator.extra", 3), "unexpected decoder.generator.extra"),
        (put("bert", "embeddings.position_ids", 1, 512), "unexpected bert.embeddings.position_ids"),
        (put("vocoder", "weight", 3), "unexpected vocoder"),
        (
            put("bert_encoder", "weight", 768, 512),
            r"bert_encoder.weight has shape \[768, 512\], not \[512, 768\]",
        ),
        (
            put("bert_encoder", "bias", 512, dtype=torch.float16),
            "bert_encoder.bias is torch.float16",
        ),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_every_other_difference_is_named(
    state: State, shapes: Shapes, fault: Callable[[State], object], named: str
) -> None:
    """`strict=False` hid real mismatches; here each is an error that says which tensor."""
    fault(state)
    with pytest.raises(InputError, match=named):
        complete_state(state, shapes, "x.pth")


def test_many_faults_are_counted_not_listed(state: State, shapes: Shapes) -> None:
    """Another model's checkpoint gives a message one can read."""
    state["decoder"] = {f"other.{i}": torch.empty(1) for i in range(100)}
    with pytest.raises(InputError, match="and 467 more") as caught:
        complete_state(state, shapes, "x.pth")
    assert len(str(caught.value)) < 1500


def test_the_parallel_prefix_is_removed(tmp_path: Path) -> None:
    """Checkpoints saved from DataParallel have it before every name; the hash is of plain names."""
    plain = {"bert": {"a.weight": torch.ones(2)}, "decoder": {"b": torch.zeros(3)}}
    prefixed = {c: {f"module.{n}": t for n, t in ts.items()} for c, ts in plain.items()}
    hashes = set()
    for number, state in enumerate((plain, prefixed)):
        torch.save(state, tmp_path / f"{number}.pth")
        read = read_checkpoint(tmp_path / f"{number}.pth")
        assert {c: [*ts] for c, ts in read.items()} == {c: [*ts] for c, ts in plain.items()}
        hashes.add(fingerprint(read, b"{}"))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({"bert": {"a": torch.ones(1), "module.a": torch.ones(1)}}, "bert.a twice"),
        ({"bert": {"a": 3}}, "bert.a is a int"),
        ({"bert.a": torch.ones(1)}, "'bert.a' holds a Tensor"),
        ([torch.ones(1)], "holds a list"),
    ],
    ids=["twice", "number", "flat", "list"],
)
def test_other_structures_are_refused(tmp_path: Path, content: object, match: str) -> None:
    """Files that are not checkpoints are rejected by name before any tensor is used."""
    torch.save(content, tmp_path / "x.pth")
    with pytest.raises(InputError, match=match):
        read_checkpoint(tmp_path / "x.pth")


class Payload:
    """Pickles as a call: what weights_only must never run."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("ran"),))


def test_a_checkpoint_cannot_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile pickle is refused, not executed."""
    monkeypatch.chdir(tmp_path)
    torch.save({"bert": Payload()}, "x.pth")
    with pytest.raises(InputError, match="cannot be read as tensors"):
        read_checkpoint(tmp_path / "x.pth")
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"bert": {"a": torch.tensor([1.0, 2.0, 3.5])}},
        {"bert": {"b": torch.tensor([1.0, 2.0, 3.0])}},
        {"bert": {"a": torch.tensor([[1.0, 2.0, 3.0]])}},
        {"decoder": {"a": torch.tensor([1.0, 2.0, 3.0])}},
        {"bert": {"a": torch.tensor([1.0, 2.0, 3.0]).view(torch.int32)}},
    ],
    ids=["value", "name", "shape", "component", "dtype"],
)
def test_the_fingerprint_covers(change: State) -> None:
    """Values, names, shapes, dtypes and the configuration all count; order and strides do not."""
    state = {"bert": {"a": torch.tensor([1.0, 2.0, 3.0])}}
    same = {"bert": {"a": torch.tensor([1.0, 9.0, 2.0, 9.0, 3.0])[::2]}}
    assert fingerprint(state, b"{}") == fingerprint(same, b"{}")
    assert fingerprint(state, b"{}") != fingerprint(state, b"{ }")
    assert fingerprint(state, b"{}") != fingerprint(change, b"{}")
