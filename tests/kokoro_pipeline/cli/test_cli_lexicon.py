"""`lexicon check`: what is right and wrong, as text and as JSON."""

from __future__ import annotations

import json


def test_a_right_lexicon(run_cli, tmp_path):
    (tmp_path / "a.tsv").write_text("Zyx\tzˈɪks\nwug\twˈʌɡ\tnoun\n", "utf-8")
    ended = run_cli("lexicon", "check", str(tmp_path / "a.tsv"))
    assert (ended.code, ended.out) == (0, "2 entries are right\n")


def test_mistakes_are_listed_with_their_lines(run_cli, tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.json"
    first.write_text("Zyx\tzˈɪks\nwug\n", "utf-8")
    second.write_text('{\n"wug": "w🙂"}', "utf-8")
    ended = run_cli("lexicon", "check", str(first), str(second))
    lines = ended.out.splitlines()
    assert ended.code == 1
    assert lines[0].startswith(f"{first}:2: 1 columns")
    assert lines[1].startswith(f"{second}:2: 'w🙂' has symbols")
    assert lines[2] == "1 entry is right, 2 wrong"


def test_json(run_cli, tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Zyx\tzˈɪks\nwug\n", "utf-8")
    ended = run_cli("lexicon", "check", str(path), "--json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert found["entries"] == [
        {"word": "Zyx", "phonemes": "zˈɪks", "part": None, "source": str(path), "line": 1}
    ]
    assert found["problems"][0]["line"] == 2
    assert found["passed"] is False


def test_a_file_that_is_none(run_cli, tmp_path):
    ended = run_cli("lexicon", "check", str(tmp_path / "a.tsv"))
    assert ended.code == 3
    assert "No such file" in ended.err
