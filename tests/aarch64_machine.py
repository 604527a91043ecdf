"""Run the whole running half on emulated aarch64, with an artifact that is built on this machine.

    python tests/aarch64_machine.py [--directory DIR] [--weights synthetic]

Downloads Debian's Python and the wheels of TVM and numpy for aarch64, builds an artifact with
`build --host linux-aarch64`, and runs it under qemu: each of the six functions on PyTorch's
intermediate results, then `say`. Nothing is installed outside of the directory. Needs a Debian
machine with qemu-user-static, a linker for aarch64 (ziglang) and the extra `build`.

Prints a row for each output. The exit code is 0 if all outputs agree with PyTorch, 1 if one differs
or a program fails there, and 3 if the emulated machine cannot be created.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
PACKAGES = ("python3-minimal", "libpython3-stdlib", "libstdc++6")
# What TVM's wheels ask for, and older ones for numpy and the rest.
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17")
PHONEMES = "hˈaɪ"
VOICE = "af_heart"

WRITE_CASE = """
import sys
sys.path.append(sys.argv[5])
from benchmarks.peers.ours import OurContender
OurContender("ours", 2, artifact=sys.argv[1]).write_case(sys.argv[2], sys.argv[3], sys.argv[4])
"""
VERIFY = """
import platform, sys
sys.path.append(sys.argv[3])
from pathlib import Path
from kokoro_pipeline import load
from benchmarks.peers.verification import Tolerance, verify
functions = load(sys.argv[1], threads=2).functions
for found in verify(functions, Path(sys.argv[2]), Tolerance(networks=2e-5, source=1e-3)):
    print(f"{platform.machine()}  {found.function:22}{found.output:10}{found.error:.1e}")
"""


class NoMachine(Exception):
    """A part of the emulated machine is not available."""


@dataclass(frozen=True)
class Machine:
    """A Python for aarch64 with the packages for running, below `root` and `site`."""

    emulator: str
    root: Path
    site: Path

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its Python with this repository on the path; its output goes to stderr."""
        path = os.pathsep.join((str(self.site), str(REPOSITORY)))
        return subprocess.run(
            [self.emulator, "-L", str(self.root), str(self.root / "usr/bin/python3"), *arguments],
            env={"PYTHONPATH": path, "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


def make_machine(directory: Path) -> Machine:
    """Download and unpack what is not there yet.

    Raises NoMachine with the words of the program that failed.
    """
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if emulator is None:
        raise NoMachine("no qemu-aarch64: apt install qemu-user-static")
    root, site = directory / "root", directory / "site"
    if not (root / "usr/bin/python3").exists():
        for package in download_packages(directory / "apt"):
            run(["dpkg-deb", "--extract", str(package), str(root)])
    machine = Machine(emulator, root, site)
    if not site.exists():
        asked = machine.python("-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        if asked.returncode:
            raise NoMachine(f"its Python ends with exit code {asked.returncode}")
        options = [f"--platform={platform}_aarch64" for platform in PLATFORMS]
        options += ["--only-binary=:all:", f"--python-version={asked.stdout.strip()}"]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
        run([*pip, *options, *running_requirements()])
    return machine


def download_packages(directory: Path) -> list[Path]:
    """Download Debian's packages for arm64, with an apt configured for this directory only."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    (directory / "status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",  # _apt may not write here
        "APT::Install-Recommends": "false",
        "Debug::NoLocking": "true",
        "Dir::State": directory / "state",
        "Dir::State::status": directory / "status",
        "Dir::Cache": directory / "cache",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    run([*apt, "update"])
    run([*apt, "install", "--yes", "--download-only", *PACKAGES])
    return sorted((directory / "cache/archives").glob("*.deb"))


def running_requirements() -> list[str]:
    """The requirements of the base installation, with the TVM pair installed here."""
    needed = [r for r in metadata.requires("tvm-kokoro") or () if "extra ==" not in r]
    pair = ("apache-tvm", "apache-tvm-ffi")
    others = [r for r in needed if re.split(r"[<>=~! ]", r)[0] not in pair]
    return [*others, *(f"{name}=={metadata.version(name)}" for name in pair)]


def run(command: Sequence[str]) -> None:
    """Raises NoMachine where it fails."""
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoMachine(str(error)) from error


def check(machine: Machine, artifact: Path, files: Path) -> int:
    """Compare the artifact with PyTorch on the machine; returns the exit code."""
    # The peers are not installed, and a script only finds its own folder.
    sys.path.insert(0, str(REPOSITORY))
    from benchmarks.peers.reference import ReferenceRole

    case, reference, speech = (str(files / name) for name in ("case.npz", "ref.npz", "hello.wav"))
    words = [str(artifact), PHONEMES, VOICE]
    if machine.python("-c", WRITE_CASE, *words, case, str(REPOSITORY)).returncode:
        return 1
    ReferenceRole("reference", 2, artifact=str(artifact)).answer(case, reference)
    verified = machine.python("-c", VERIFY, str(artifact), reference, str(REPOSITORY))
    print(verified.stdout, end="")
    if verified.returncode:
        return 1
    words = ["--phonemes", PHONEMES, "--voice", VOICE, "--artifact", str(artifact), "-o", speech]
    if machine.python("-m", "kokoro_pipeline", "say", *words).returncode:
        return 1
    with wave.open(speech) as spoken:
        seconds = spoken.getnframes() / spoken.getframerate()
    print(f"say: {seconds:.2f} s of audio")
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, help="keep the machine and the artifact here")
    parser.add_argument("--weights", default="synthetic", help="as `build` takes them")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        directory = (options.directory or Path(scratch)).resolve()
        artifact = directory / "artifact"
        try:
            machine = make_machine(directory)
            build = [sys.executable, "-m", "kokoro_pipeline", "build", "-o", str(artifact)]
            build += ["--weights", options.weights, "--host", "linux-aarch64", "--force"]
            run(build)
        except NoMachine as error:
            print(f"error: no emulated machine with an artifact: {error}", file=sys.stderr)
            return 3
        return check(machine, artifact, directory)


if __name__ == "__main__":
    sys.exit(main())
