"""The README's tables of retired fixes are parsed and compared with the extension's states.

`prove.py` obtains the states of a patched tree; these tests use those of the installed wheel.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from patch_proof.retired import (
    Balance,
    Claims,
    balance,
    committed_balance,
    contradictions,
    read_claims,
    states,
)
from patch_proof.wheel_tree import TreeError

TABLES = """
| [0001](0001-a.patch) | `x[m]` | part of `clamp` | 0.27 | `test_a.py` |
| [0002](0002-b.patch) | `b` | `alpha`, part of `cat` | 0.27 | `test_b.py` |
| [0003](0003-c.patch) | warns, fix `randn` | – | 0.27 | `test_c.py` |
| [cpp/0001](cpp/0001-d.patch) | d | `group_norm` | 0.27 | `test_d.py` |
"""


@pytest.mark.parametrize(
    ("cpp", "claims"),
    [
        (False, Claims(frozenset({"alpha"}), frozenset({"clamp", "cat"}))),
        (True, Claims(frozenset({"group_norm"}), frozenset())),
    ],
)
def test_tables_are_read(cpp: bool, claims: Claims) -> None:
    assert read_claims(TABLES, cpp=cpp) == claims


STOCK = {"alpha": "applied", "clamp": "applied", "expand": "not_needed", "lstm": "applied"}


@pytest.mark.parametrize(
    ("whole", "part", "off", "problem"),
    [
        ("alpha", "clamp", "alpha", None),
        ("alpha", "clamp", "", "alpha is to be retired"),
        ("alpha", "clamp", "alpha clamp", "clamp is not retired in whole"),
        ("alpha", "clamp", "alpha lstm", "lstm is not retired in whole"),
        ("expand", "", "", "expand is to be retired"),
        ("alpha", "alpha", "alpha", "alpha is retired in whole and in part"),
        ("alpha", "nonsense", "alpha", "no fix is called nonsense"),
    ],
)
def test_contradictions(whole: str, part: str, off: str, problem: str | None) -> None:
    claims = Claims(frozenset(whole.split()), frozenset(part.split()))
    patched = STOCK | dict.fromkeys(off.split(), "not_needed")
    found = contradictions(claims, STOCK, patched)
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1 and problem in found[0]


@pytest.mark.slow
def test_states_are_those_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment turns off; a tree without TVM is refused with what Python says."""
    monkeypatch.setenv("TVM_KOKORO_EXT_DISABLE", "all")
    tvm = find_spec("tvm")
    assert tvm is not None and tvm.submodule_search_locations
    found = states(Path(tvm.submodule_search_locations[0]).parent)
    assert found["alpha"] == "applied" and found["leaky_relu"] == "not_needed"


def test_tree_that_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text("raise OSError('no library')")
    with pytest.raises(TreeError, match="no library"):
        states(tmp_path)


def test_the_balance_counts_each_fix_that_is_on_once() -> None:
    stock = dict.fromkeys(["alpha", "clamp", "cat", "group_norm", "lstm"], "applied")
    assert balance(TABLES, stock | {"expand": "not_needed"}) == Balance(5, 2, 2, 1)


def test_the_balance_is_the_one_that_is_held_and_that_the_pages_state() -> None:
    """The numbers of retired fixes do not fall without somebody saying so in `balance.json`."""
    import tvm_kokoro_ext
    from tvm_kokoro_ext import _compat

    if _compat.tvm_version().release[:2] != (0, 27):
        pytest.skip("the balance is that of 0.27")
    root = Path(__file__).resolve().parents[2]
    readme = (root / "upstream_patches" / "README.md").read_text(encoding="utf-8")
    found = balance(readme, {row.id: row.state.value for row in tvm_kokoro_ext.status()})
    assert found == committed_balance()
    assert found.on == found.retired + found.partly + found.open
    for page in (root / "docs" / "patches.md", root / "upstream_patches" / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        stated = (
            f"{found.on} of the {len(tvm_kokoro_ext.fixes)} fixes are on in 0.27: "
            f"the patches retire {found.retired} of them"
            + (f", and a part of {found.partly}" if found.partly else "")
            + f"; {found.open} are open"
        )
        assert stated in text, page.name
