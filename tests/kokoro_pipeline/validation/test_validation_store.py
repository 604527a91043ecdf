"""Cached references: bit-exact, checked for damage, limited in size, and written atomically."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.validation import store as store_module
from kokoro_pipeline.validation.case_reference import (
    CaseInputs,
    CaseReference,
    ReferenceArrays,
    case_inputs,
)
from kokoro_pipeline.validation.cases import Case
from kokoro_pipeline.validation.store import DamagedReferenceError, ReferenceStore

WEIGHTS = "a" * 64


def made_up(case: Case, voices: dict[str, np.ndarray]) -> CaseReference:
    """A reference of the right shapes, with 2 frames a token."""
    inputs = case_inputs(case, voices)
    rng = np.random.default_rng(len(case.phonemes))
    durations = np.full(case.tokens, 2)
    blank = dict.fromkeys(ReferenceArrays.names(), np.empty(0))
    shapes = ReferenceArrays(**{**blank, "durations": durations}).expected_shapes()
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    arrays["durations"] = durations
    arrays["audio_float32"] = arrays["audio_float32"].astype(np.float32)
    return CaseReference(inputs, ReferenceArrays(**arrays))


@pytest.fixture
def store(tmp_path: Path) -> ReferenceStore:
    return ReferenceStore(tmp_path / "references", WEIGHTS)


@pytest.fixture
def saved(store: ReferenceStore, voices: dict[str, np.ndarray]) -> CaseReference:
    reference = made_up(Case("mI"), voices)
    store.save(reference)
    return reference


def test_what_was_saved_comes_back_to_the_bit(store: ReferenceStore, saved: CaseReference) -> None:
    loaded = store.load(saved.inputs)
    assert loaded is not None and loaded.inputs is saved.inputs
    for name in ReferenceArrays.names():
        before, after = getattr(saved.arrays, name), getattr(loaded.arrays, name)
        assert before.dtype == after.dtype and np.array_equal(before, after), name
    assert [path.suffix for path in store.root.iterdir()] == [".npz"]


def test_another_case_voice_or_set_of_weights_is_not_found(
    store: ReferenceStore, saved: CaseReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = saved.inputs
    others = [
        CaseInputs(replace(inputs.case, speed=1.3), inputs.input_ids, inputs.style),
        CaseInputs(inputs.case, inputs.input_ids, inputs.style + np.float32(1e-3)),
    ]
    assert [store.load(other) for other in others] == [None, None]
    assert ReferenceStore(store.root, "b" * 64).load(inputs) is None
    monkeypatch.setattr(store_module, "package_versions", lambda: {"torch": "99"})
    assert store.load(inputs) is None


def flip(content: bytearray) -> None:
    content[len(content) // 2] ^= 1


def cut(content: bytearray) -> None:
    del content[len(content) // 2 :]


def empty(content: bytearray) -> None:
    content.clear()


@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_a_damaged_file_is_noticed(store: ReferenceStore, saved: CaseReference, damage) -> None:
    path = store.path(saved.inputs)
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    with pytest.raises(DamagedReferenceError, match=path.name):
        store.load(saved.inputs)
    store.save(saved)
    assert store.load(saved.inputs) is not None


def test_a_file_of_another_case_is_noticed(
    store: ReferenceStore, saved: CaseReference, voices: dict[str, np.ndarray]
) -> None:
    other = case_inputs(Case("ɡˈʌlz"), voices)
    store.path(saved.inputs).rename(store.path(other))
    with pytest.raises(DamagedReferenceError, match="another case"):
        store.load(other)


def test_other_noise_is_noticed(
    store: ReferenceStore, saved: CaseReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If numpy changes its random numbers, stored references are no longer valid."""
    monkeypatch.setattr(CaseInputs, "noise", lambda self, frames: np.zeros((1, 600 * frames, 9)))
    with pytest.raises(DamagedReferenceError, match="noise"):
        store.load(saved.inputs)


def test_the_longest_unused_make_room(tmp_path: Path, voices: dict[str, np.ndarray]) -> None:
    references = [made_up(Case(phonemes), voices) for phonemes in ("mI", "sˈi", "slˈO")]
    unbounded = ReferenceStore(tmp_path, WEIGHTS)
    for age, reference in enumerate(references[:2]):
        unbounded.save(reference)
        os.utime(unbounded.path(reference.inputs), (1000 + age, 1000 + age))
    assert unbounded.load(references[0].inputs) is not None  # now the younger one
    sizes = [unbounded.path(r.inputs).stat().st_size for r in references[:2]]
    bounded = ReferenceStore(tmp_path, WEIGHTS, max_bytes=2 * sum(sizes))
    bounded.save(references[2])
    assert len(list(tmp_path.glob("*.npz"))) == 3
    tight = ReferenceStore(tmp_path, WEIGHTS, max_bytes=sizes[0] + 2 * sizes[1])
    tight.save(references[2])
    found = [tight.load(reference.inputs) is not None for reference in references]
    assert found == [True, False, True]
    # What was just written stays, however small the bound.
    ReferenceStore(tmp_path, WEIGHTS, max_bytes=1).save(references[1])
    assert [p.name for p in tmp_path.glob("*.npz")] == [tight.path(references[1].inputs).name]


def test_an_interrupted_write_leaves_nothing(
    store: ReferenceStore, voices: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = made_up(Case("mI"), voices)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        store.save(reference)
    assert list(store.root.iterdir()) == []


def test_what_a_dead_writer_left_is_removed(store: ReferenceStore, saved: CaseReference) -> None:
    dead, alive = store.root / ".writing-dead", store.root / ".writing-alive"
    for path in (dead, alive):
        path.write_bytes(b"half")
    os.utime(dead, (1000, 1000))
    store.save(saved)
    assert not dead.exists() and alive.exists()
