"""What `prove.py --new` takes for proved: a patch, what it requires and the versions, unchanged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import patch_proof.records as records
import pytest
from patch_proof.patch_file import Patch


def patch(folder: Path, title: str, *depends_on: str) -> Patch:
    path = folder / f"{title}.patch"
    path.write_text(f"the patch {title}", encoding="utf-8")
    fields = {"Depends-On": depends_on} if depends_on else {}
    return Patch(path, title, "author", "date", "body", fields, ())


@pytest.fixture
def series(tmp_path: Path) -> tuple[Patch, ...]:
    return (
        patch(tmp_path, "first"),
        patch(tmp_path, "second", "first"),
        patch(tmp_path, "third", "second"),
        patch(tmp_path, "alone"),
    )


def names(patches: list[Patch]) -> list[str]:
    return [each.title for each in patches]


def test_what_is_recorded_is_not_proved_again(series, tmp_path):
    path = tmp_path / "proved.json"
    records.record(series[:2], series, path)
    known = records.read_records(path)
    assert names(records.unproved(series, series, known)) == ["third", "alone"]
    records.record(series[2:], series, path)
    assert not records.unproved(series, series, records.read_records(path))


def test_a_changed_patch_is_proved_again_with_all_that_require_it(series, tmp_path):
    path = tmp_path / "proved.json"
    records.record(series, series, path)
    series[0].path.write_text("changed", encoding="utf-8")
    found = records.unproved(series, series, records.read_records(path))
    assert names(found) == ["first", "second", "third"]


@pytest.mark.parametrize("package", ("apache-tvm", "torch"))
def test_another_version_is_another_proof(series, tmp_path, monkeypatch, package):
    path = tmp_path / "proved.json"
    records.record(series, series, path)
    real = records.version
    monkeypatch.setattr(records, "version", lambda name: "99" if name == package else real(name))
    assert len(records.unproved(series, series, records.read_records(path))) == len(series)


def test_a_patch_that_is_gone_is_forgotten(series, tmp_path):
    path = tmp_path / "proved.json"
    records.record(series, series, path)
    shorter = tuple(replace(each) for each in series[:1])
    records.record([], shorter, path)
    assert list(records.read_records(path)) == [series[0].name]
