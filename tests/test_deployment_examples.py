"""`examples/deploy/`: what the files say is what the command line and the package have."""

from __future__ import annotations

import argparse
import ast
import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_pipeline.cli.frame import make_parser
from kokoro_pipeline.runtime.server import settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "examples" / "deploy"
UNIT = DEPLOY / "kokoro-pipeline.service"


def parse(words: list[str]) -> argparse.Namespace:
    """The arguments of a command line that begins with the program."""
    assert Path(words[0]).name == "kokoro-pipeline"
    return make_parser().parse_args(words[1:])


@pytest.fixture(scope="module")
def dockerfile() -> list[tuple[str, str]]:
    """The instructions, with their lines joined."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    rows = [line.partition(" ") for line in lines if line.strip()]
    return [(name, rest) for name, _, rest in rows]


def last(dockerfile: list[tuple[str, str]], name: str) -> str:
    return [rest for each, rest in dockerfile if each == name][-1]


def test_the_image_is_slim_and_its_user_is_not_root(dockerfile):
    known = {"FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "HEALTHCHECK"}
    assert {name for name, _ in dockerfile} <= known
    bases = [rest.split()[0] for name, rest in dockerfile if name == "FROM"]
    assert all(re.fullmatch(r"python:3\.1[0-2]-slim", base) for base in bases)
    names = [name for name, _ in dockerfile]
    final = dockerfile[len(names) - names[::-1].index("FROM") :]
    assert "COPY" not in dict(final)  # no sources and no wheels in its layers
    user = last(final, "USER")
    assert user not in ("root", "0") and "useradd --system --no-create-home" in last(final, "RUN")
    assert last(final, "RUN").endswith(f" {user}")


def test_the_image_takes_what_the_installation_needs(dockerfile):
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*" and ("COPY", ". /source") in dockerfile
    assert all((ROOT / line.removeprefix("!")).exists() for line in ignored[1:])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    files = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    assert {line.removeprefix("!") for line in ignored[1:]} == {
        *(package.rstrip("*") for package in packages),
        *files,
    }


def test_the_image_serves_the_volume(dockerfile):
    given = parse(json.loads(last(dockerfile, "ENTRYPOINT")))
    assert str(given.artifact) == last(dockerfile, "VOLUME")
    assert str(given.port) == last(dockerfile, "EXPOSE")
    assert not given.insecure and given.api_key is None
    assert f":{given.port}/ready" in last(dockerfile, "HEALTHCHECK")
    command = json.loads(last(dockerfile, "HEALTHCHECK").partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    ast.parse(command[2])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "serve" in extras["optional-dependencies"]
    assert '"tvm-kokoro[serve]"' in last(dockerfile, "RUN")


def test_the_image_without_a_key_does_not_start(dockerfile):
    """Its host is reached from elsewhere, so that the key of the environment is asked for."""
    given = parse(json.loads(last(dockerfile, "ENTRYPOINT")))
    with pytest.raises(settings.InputError, match="give --api-key"):
        settings.ServerSettings(given.artifact, host=given.host, port=given.port)
    settings.ServerSettings(given.artifact, host=given.host, port=given.port, api_key="secret")


def test_the_unit_runs_the_command_line():
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read_string(UNIT.read_text("utf-8"))
    given = parse(shlex.split(unit["Service"]["ExecStart"]))
    assert settings.is_loopback(given.host)
    from kokoro_pipeline.cli.serve import _GRACE

    assert int(unit["Service"]["TimeoutStopSec"]) > _GRACE
    assert unit["Service"]["DynamicUser"] == "yes"


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd on this machine")
    program = tmp_path / "kokoro-pipeline"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / UNIT.name
    text = UNIT.read_text("utf-8")
    copy.write_text(re.sub(r"(?<=ExecStart=)\S+", str(program), text))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    copy.write_text(text.replace("ProtectHome=yes", "ProtectHoome=yes"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert "ProtectHoome" in done.stderr  # it does look
