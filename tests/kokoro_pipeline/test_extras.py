"""What to install for an optional part, on every Python that this package installs on."""

import pytest

from kokoro_pipeline.extras import NEWEST_PYTHON, install_command

PLAIN = "pip install 'tvm-kokoro[{}]'"


@pytest.mark.parametrize(
    ("extras", "python", "named"),
    [
        (("build",), (3, 10), None),
        (("build",), (3, 12), None),
        (("build",), (3, 13), "3.12"),
        (("text",), (3, 14), "3.12"),
        (("build", "bench"), (3, 13), "3.12"),
        (("audio",), (3, 14), None),
    ],
)
def test_the_python_to_take_is_named_where_the_packages_stop_before(extras, python, named):
    command = install_command(*extras, python=python)
    plain = PLAIN.format(",".join(extras))
    if named is None:
        assert command == plain
    else:
        assert command.endswith(plain)
        assert f"Python {named}" in command and f"this is {python[0]}.{python[1]}" in command


def test_the_table_names_extras_whose_packages_carry_the_same_marker():
    tomllib = pytest.importorskip("tomllib")  # since Python 3.11
    from pathlib import Path

    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    packages_of = project["project"]["optional-dependencies"]
    marked = {
        extra
        for extra, packages in packages_of.items()
        if any("python_version < '3.13'" in package for package in packages)
    }
    # These read text, so that they need what `text` does; the others are for developers.
    through = {
        extra for extra in ("serve", "batch", "ray") if "tvm-kokoro[text" in packages_of[extra][0]
    }
    assert marked | through == set(NEWEST_PYTHON)
    assert set(NEWEST_PYTHON.values()) == {(3, 12)}
