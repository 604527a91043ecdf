"""The process of a contender: answers, errors that keep their type, and its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_pipeline.benchmarking import checkout
from kokoro_pipeline.benchmarking.benchmark import OUR_ROLE
from kokoro_pipeline.benchmarking.process import ContenderProcess
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault, InputError


@pytest.fixture
def ours(toy_artifact):
    with ContenderProcess(OUR_ROLE, "ours", 1, artifact=str(toy_artifact)) as process:
        yield process


def test_calls_are_answered(ours):
    utterance = ours.call("measured", phonemes="kæt", voice="af_heart")
    assert utterance.tokens == 3
    assert utterance.chunks == 1
    assert utterance.seconds > 0
    assert "apache-tvm" in ours.call("versions")
    assert ours.call("memory").peak > 1e6


@pytest.mark.parametrize(
    ("method", "arguments", "kind", "words"),
    [
        ("speak", {"phonemes": "", "voice": "af_heart"}, InputError, "nothing to say"),
        ("speak", {"phonemes": "kæt", "voice": "nobody"}, InputError, "nobody"),
        ("vanish", {}, InputError, "no method 'vanish'"),
        ("_chunks", {"phonemes": "kæt", "voice": "af_heart"}, InputError, "no method"),
        # What is no KokoroError is the contender's failure.
        ("speak", {"phonemes": "kæt"}, EnvironmentFault, "ours failed: TypeError"),
    ],
)
def test_a_fault_is_raised_where_the_call_was_made(ours, method, arguments, kind, words):
    with pytest.raises(kind, match=words):
        ours.call(method, **arguments)
    assert ours.call("versions")  # and the process goes on


def test_a_role_that_cannot_start_says_why(tmp_path):
    with pytest.raises(ArtifactError, match="nowhere"):
        ContenderProcess(OUR_ROLE, "ours", 1, artifact=str(tmp_path / "nowhere"))


def test_a_killed_process_is_reported(ours):
    ours._process.kill()
    with pytest.raises(EnvironmentFault, match=r"ours was killed by signal 9"):
        ours.call("versions")
    ours.close()
    ours.close()


def test_patience_ends(toy_artifact):
    # Not even an interpreter starts within a millisecond.
    with pytest.raises(EnvironmentFault, match="no answer within"):
        ContenderProcess(OUR_ROLE, "ours", 1, patience=0.001, artifact=str(toy_artifact))


def test_comparing_takes_neither_torch_nor_tvm(run_fresh):
    """The process that lets others take turns, and our own contender, are of the running half."""
    checkout = Path(__file__).resolve().parents[3]  # the package may be installed elsewhere
    program = f"""
        import os, sys
        os.chdir({str(checkout)!r})
        import kokoro_pipeline.benchmarking.benchmark
        import kokoro_pipeline.benchmarking.ours
        from kokoro_pipeline.benchmarking.checkout import comparison
        comparison()
        import kokoro_pipeline.cli.benchmark
        print([name for name in ("torch", "tvm", "onnxruntime", "openvino") if name in sys.modules])
    """
    assert run_fresh(program).strip() == "[]"


def test_prints_of_a_library_do_not_mix_with_the_report(tmp_path, monkeypatch, capfd):
    (tmp_path / "chattering.py").write_text(
        "class Role:\n"
        "    def __init__(self, role, threads):\n"
        "        print('chatter')\n"
        "    def threads(self):\n"
        "        import os\n"
        "        return os.environ['OMP_NUM_THREADS']\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with ContenderProcess("chattering:Role", "chat", 3) as process:
        assert process.call("threads") == "3"
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "chatter" in printed.err


def test_peers_are_found_in_a_checkout_and_refused_elsewhere(monkeypatch, tmp_path):
    installed = tmp_path / "site-packages" / "kokoro_pipeline" / "benchmarking" / "checkout.py"
    monkeypatch.setattr(checkout, "__file__", str(installed))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentFault, match="root folder of a checkout"):
        checkout.comparison()
    root = tmp_path / "elsewhere"
    (root / "benchmarks" / "peers").mkdir(parents=True)
    (root / "benchmarks" / "peers" / "contender.py").touch()
    assert checkout.checkout() == root
