"""The command of a recogniser: quoted as in a shell, looked at by none, and never confused by the names of files."""

import shlex
import sys
import tempfile

import numpy as np
import pytest

from zeroevidence.auditing.speech_utility import run_recogniser
from zeroevidence.data.audio import write_audio
from zeroevidence.data.corpus import Utterance

pytest.importorskip("soundfile")

# Prints its arguments, and whether the file that one of them names is there.
ONE = """
import os, sys
*rest, file = sys.argv[1:]
print("|".join(rest), os.path.isfile(file.removeprefix("--file=")))
"""
LIST = """
import os, sys
for line in open(sys.argv[1], encoding="utf-8"):
    name, path = line.rstrip("\\n").split(" ", 1)
    print(name, os.path.isfile(path))
"""


@pytest.fixture(params=["plain", "{wav} {list} quo'te\"s $(touch x) ;&|*"])
def folder(request, tmp_path, monkeypatch):
    """Where temporary files lie."""
    home = tmp_path / request.param
    home.mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def utterances(tmp_path):
    write_audio(tmp_path / "u.wav", 0.1 * np.random.default_rng(0).normal(size=1600))
    return [Utterance(name, "s", tmp_path / "u.wav") for name in ("u'2", "$(id)", "-\u00fc")]


def test_arguments_come_as_they_were_quoted(folder, utterances, tmp_path):
    (tmp_path / "a program's.py").write_text(ONE)
    program = shlex.join([sys.executable, str(tmp_path / "a program's.py")])
    texts = run_recogniser(utterances, f"""{program} 'a b' "c'd" $HOME \\; '*' "" --file={{wav}}""")
    assert texts == {utterance.id: "a b|c'd|$HOME|;|*| True" for utterance in utterances}
    assert not (tmp_path / "x").exists()
    assert list(folder.iterdir()) == []  # no speech stays


def test_a_list_of_files(folder, utterances, tmp_path):
    (tmp_path / "hear.py").write_text(LIST)
    program = shlex.join([sys.executable, str(tmp_path / "hear.py")])
    texts = run_recogniser(utterances, f"{program} {{list}}")
    assert texts == {utterance.id: "True" for utterance in utterances}
