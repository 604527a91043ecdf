"""`info`, `verify` and `voices` on a real folder, whole and damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import Choices, ConvolutionChoice, WeightsInfo


@pytest.fixture
def artifact(make_artifact, tmp_path):
    return make_artifact(tmp_path / "kokoro")


def flip(file) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_info_shows_what_an_artifact_is(run_cli, artifact):
    ended = run_cli("info", artifact)
    assert (ended.code, ended.err) == (0, "")
    for part in (
        "synthetic, seed 0",
        "not speech",
        "llvm, generic, opt level 1",
        "apache-tvm 0.27.0.post1",
        "1 applied, 1 not_needed",
        "af_bella af_heart",
        "input_ids[B,n] int64, lengths[B] int64 -> d_en[B,512,n]",
        "none was run",
    ):
        assert part in ended.out


def test_info_names_real_weights_and_a_failed_validation(run_cli, make_artifact, tmp_path):
    weights = WeightsInfo("hexgrad/Kokoro-82M", "f3ff35", "1" * 64)
    artifact = make_artifact(tmp_path / "a", weights=weights, validation={"passed": False})
    out = run_cli("info", artifact).out
    assert "hexgrad/Kokoro-82M at f3ff35" in out
    assert "FAILED when built" in out


def test_info_says_how_convolutions_were_chosen(run_cli, make_artifact, tmp_path):
    one = ConvolutionChoice("fft32x16", {"fft32x16": 1.5})
    convolutions = {"256->256 k7, 3200 rows": one, "256->256 k11, 3200 rows": one}
    for measured_on, words in (("a CPU", "measured on a CPU"), ("", "chosen by the model")):
        choices = Choices(measured_on, convolutions)
        artifact = make_artifact(tmp_path / f"a{len(measured_on)}", choices=choices)
        assert f"2 fft32x16 ({words})" in run_cli("info", artifact).out


def test_info_json_is_the_manifest(run_cli, artifact):
    ended = run_cli("info", artifact, "--json")
    assert json.loads(ended.out) == json.loads((artifact / "manifest.json").read_text())


def test_info_looks_at_artifacts_of_other_machines(run_cli, make_artifact, tmp_path):
    versions = {"apache-tvm": "0.25.0", "apache-tvm-ffi": "0.1.12"}
    assert run_cli("info", make_artifact(tmp_path / "old", versions=versions)).code == 0


def test_verify_passes_a_whole_artifact(run_cli, artifact):
    ended = run_cli("verify", artifact)
    assert ended.code == 0, ended.out
    assert ended.out.splitlines()[-1] == f"{artifact}: whole"
    assert "FAILED" not in ended.out


@pytest.mark.parametrize(
    "name", ["model.so", "config.json", "voices/af_heart.npy", "manifest.json"]
)
def test_verify_finds_one_flipped_bit(run_cli, artifact, name):
    flip(artifact / name)
    ended = run_cli("verify", artifact)
    assert ended.code == 1
    assert f"FAILED  {name}" in ended.out
    assert "--force" in ended.out


def test_verify_json(run_cli, artifact):
    flip(artifact / "config.json")
    told = json.loads(run_cli("verify", artifact, "--json").out)
    assert told["passed"] is False
    assert [check["name"] for check in told["checks"] if not check["passed"]] == ["config.json"]


@pytest.mark.parametrize("command", ["info", "verify", "validate"])
def test_what_is_no_artifact_is_bad_input(run_cli, tmp_path, command):
    ended = run_cli(command, tmp_path)
    assert ended.code == 3
    assert str(tmp_path) in ended.err
    assert ended.out == ""


def test_voices_lists_an_artifacts_voices(run_cli, artifact):
    assert run_cli("voices", "--artifact", artifact).out == "af_bella\naf_heart\n"
    told = json.loads(run_cli("voices", "--artifact", artifact, "--json").out)
    assert told == {"voices": ["af_bella", "af_heart"], "checked": []}


def test_voices_checks_files_names_and_blends(run_cli, artifact, tmp_path):
    file = tmp_path / "mine.npy"
    np.save(file, np.full((510, 256), -0.5, np.float32))
    blend = "af_heart:0.6,af_bella:0.4"
    ended = run_cli("voices", "--artifact", artifact, "--check", file, "--check", blend, "--json")
    checked = json.loads(ended.out)["checked"]
    assert [found["voice"] for found in checked] == [str(file), blend]
    assert all(found["shape"] == [510, 1, 256] for found in checked)
    assert [found["rms"] for found in checked] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((2, 256), np.float32),
        np.full((510, 256), np.nan, np.float32),
        np.full((510, 256), 1e30, np.float32),
    ],
    ids=["shape", "NaN", "scale"],
)
def test_voices_refuses_a_file_that_is_no_voice(run_cli, tmp_path, values):
    file = tmp_path / "bad.npy"
    np.save(file, values)
    ended = run_cli("voices", "--check", file)
    assert ended.code == 3
    assert "bad.npy" in ended.err


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_a_bad_voice_does_not_hide_a_good_one(run_cli, artifact, form):
    words = ("--check", "nobody", "--check", "af_heart", "--check", "nothing", *form)
    ended = run_cli("voices", "--artifact", artifact, *words)
    assert ended.code == 3
    assert "nobody" in ended.err and "nothing" in ended.err
    assert "510" in ended.out and "nobody" not in ended.out


def test_an_unknown_voice_names_near_ones(run_cli, artifact):
    ended = run_cli("voices", "--artifact", artifact, "--check", "af_hart")
    assert ended.code == 3
    assert "af_heart" in ended.err
