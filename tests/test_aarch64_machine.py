"""The emulated aarch64 machine: its parts, and the errors if it cannot be created."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

# A script beside this file, which is no package: pytest runs in importlib mode. The folder does not
# stay on the path, where tests/tvm_kokoro_ext would be found as the package.
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(Path(__file__).parent))
    import aarch64_machine
    from aarch64_machine import Machine, NoMachine


def test_it_has_what_running_needs_and_the_pair_of_here():
    needed = aarch64_machine.running_requirements()
    assert f"apache-tvm=={metadata.version('apache-tvm')}" in needed
    assert f"apache-tvm-ffi=={metadata.version('apache-tvm-ffi')}" in needed
    assert any(requirement.startswith("numpy") for requirement in needed)
    assert not any("torch" in requirement for requirement in needed)


def test_without_qemu_the_remedy_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert aarch64_machine.main(["--directory", str(tmp_path)]) == 3
    assert "apt install qemu-user-static" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["false"], ["no-such-program"]])
def test_a_program_that_fails_is_named(command):
    with pytest.raises(NoMachine, match=command[0]):
        aarch64_machine.run(command)


def test_a_program_that_fails_there_is_a_failed_check(tmp_path):
    """Here an "emulator" that fails whatever it is given."""
    assert aarch64_machine.check(Machine("false", tmp_path, tmp_path), tmp_path, tmp_path) == 1
